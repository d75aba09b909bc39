// Has the first generation of the TypeScript SDK talk to a stdio server and prints what it saw as one line of JSON.
// Usage: typescript-1.mjs handshake COMMAND [ARGUMENT...]
import { createRequire } from "node:module";

// This file stands outside the folder that scripts/tools fills, so `import` would not find the packages there.
const require = createRequire(new URL("../../../.tools/node/", import.meta.url));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [era, command, ...args] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args });
// Only a transport over HTTP needs the negotiated revision, so the client tells nobody else.
let protocolVersion;
transport.setProtocolVersion = (version) => (protocolVersion = version);
const client = new Client({ name: "interop", version: "1.0.0" });
await client.connect(transport);

const context = { context: "background job processing" };
const seen = {
  client: "typescript-1",
  era,
  protocolVersion,
  serverInfo: client.getServerVersion(),
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  call: firstText(await client.callTool({ name: "tmkb_query", arguments: context }), false),
  error: firstText(await client.callTool({ name: "tmkb_query", arguments: { ...context, language: "java" } }), true),
  unknown: await outcome(client.callTool({ name: "no_such_tool", arguments: {} })),
  ping: await outcome(client.ping()),
};
await client.close();
console.log(JSON.stringify(seen));

function firstText(result, isError) {
  if ((result.isError ?? false) !== isError) throw new Error(`unexpected: ${JSON.stringify(result)}`);
  return result.content[0].text;
}

// Returns "ok", or the error that came instead of a result.
async function outcome(request) {
  try {
    await request;
    return "ok";
  } catch ({ code, message }) {
    return { code, message };
  }
}
