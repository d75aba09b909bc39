// Has the second generation of the TypeScript SDK talk to a stdio server and prints what it saw as one line of JSON.
// Usage: typescript-2.mjs handshake|stateless COMMAND [ARGUMENT...]
import { createRequire } from "node:module";
import { look } from "./look.mjs";

// This file stands outside the folder that scripts/tools fills, so `import` would not find the packages there.
const require = createRequire(new URL("../../../.tools/node/", import.meta.url));
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const [era, command, ...args] = process.argv.slice(2);
// "auto" first starts a second, throw-away server process and asks that one for server/discover.
const mode = { handshake: "legacy", stateless: "auto" }[era];
const client = new Client({ name: "interop", version: "1.0.0" }, { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args }));

await look(client, client.getNegotiatedProtocolVersion());
