// Has the first generation of the TypeScript SDK talk to a stdio server and prints what it saw as one line of JSON.
// Usage: typescript-1.mjs handshake COMMAND [ARGUMENT...]
import { createRequire } from "node:module";
import { look } from "./look.mjs";

// This file stands outside the folder that scripts/tools fills, so `import` would not find the packages there.
const require = createRequire(new URL("../../../.tools/node/", import.meta.url));
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");

const [, command, ...args] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args });
// Only a transport over HTTP needs the negotiated revision, so the client tells nobody else.
let protocolVersion;
transport.setProtocolVersion = (version) => (protocolVersion = version);
const client = new Client({ name: "interop", version: "1.0.0" });
await client.connect(transport);

await look(client, protocolVersion);
