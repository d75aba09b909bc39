// Has the second generation of the TypeScript SDK talk to `duvet mcp` in the current folder and prints what it saw as one
// line of JSON. Usage: duvet.mjs handshake|stateless COMMAND [ARGUMENT...]
import { createRequire } from "node:module";

// This file stands outside the folder that scripts/tools fills, so `import` would not find the packages there.
const require = createRequire(new URL("../../../.tools/node/", import.meta.url));
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const [era, command, ...args] = process.argv.slice(2);
const mode = { handshake: "legacy", stateless: "auto" }[era];
const client = new Client({ name: "interop", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args, cwd: process.cwd() }));
const seen = {
  protocolVersion: client.getNegotiatedProtocolVersion(),
  tools: (await client.listTools()).tools.length,
  templates: (await client.listResourceTemplates()).resourceTemplates.length,
  read: (await client.readResource({ uri: "duvet:///citations" })).contents[0].text,
  call: (await client.callTool({ name: "search_requirements", arguments: { query: "lid" } })).content[0].text,
};
await client.close();
console.log(JSON.stringify(seen));
