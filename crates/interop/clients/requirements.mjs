// Has a generation of the TypeScript SDK talk to `spexus serve` and prints what it saw as one line of JSON: over HTTP, or
// through the command of a bridge.
// Usage: requirements.mjs 1|2 handshake|stateless URL TOKEN [COMMAND [ARGUMENT...]]
import { createRequire } from "node:module";

// This file stands outside the folder that scripts/tools fills, so `import` would not find the packages there.
const require = createRequire(new URL("../../../.tools/node/", import.meta.url));
const [generation, era, url, token, command, ...args] = process.argv.slice(2);
const epic = "epic://EP-001";
const info = { name: "interop", version: "1.0.0" };
const headers = { Authorization: `Bearer ${token}` };
const endpoint = new URL(`${url}/api/v1/mcp`);
const bridge = { command, args, env: { BACKEND_API_URL: url, MCP_PAT_TOKEN: token, LOG_LEVEL: "off" } };
const { promise: updated, resolve: hear } = Promise.withResolvers();

const client = await (generation === "1" ? first() : second());
const reference = { ref: { type: "ref/prompt", name: "decompose_epic" }, argument: { name: "epic_id", value: "EP-0" } };
const seen = {
  protocolVersion: client.revision(),
  tools: (await client.listTools()).tools.length,
  call: titleOf((await client.callTool({ name: "get_entity", arguments: { reference: "EP-001" } })).content[0]),
  read: titleOf((await client.readResource({ uri: epic })).contents[0]),
  prompt: (await client.getPrompt({ name: "decompose_epic", arguments: { epic_id: "EP-001" } })).messages[0].content.text,
  completed: (await client.complete(reference)).completion.values,
};
if (era === "stateless") await client.listen({ resourceSubscriptions: [epic] });
else await client.subscribeResource({ uri: epic });
// A client opens its stream when it likes, so what it is to hear of has to happen after that.
const changing = setInterval(change, 500);
await change();
seen.updated = await updated;
clearInterval(changing);
await client.close();
console.log(JSON.stringify(seen));

async function first() {
  const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
  const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ResourceUpdatedNotificationSchema } = require("@modelcontextprotocol/sdk/types.js");
  const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
  const transport = command
    ? new StdioClientTransport(bridge)
    : new StreamableHTTPClientTransport(endpoint, { requestInit: { headers } });
  // Only a transport over HTTP needs the negotiated revision, so the client tells nobody else.
  if (command) transport.setProtocolVersion = (version) => (transport.protocolVersion = version);
  const client = new Client(info);
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => hear(params.uri));
  await client.connect(transport);
  client.revision = () => transport.protocolVersion;
  return client;
}

async function second() {
  const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
  const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
  const mode = { handshake: "legacy", stateless: "auto" }[era];
  const client = new Client(info, { versionNegotiation: { mode } });
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => hear(params.uri));
  const overHttp = () => new StreamableHTTPClientTransport(endpoint, { requestInit: { headers } });
  await client.connect(command ? new StdioClientTransport(bridge) : overHttp());
  client.revision = () => client.getNegotiatedProtocolVersion();
  return client;
}

// Changes the epic through REST.
async function change() {
  const body = JSON.stringify({ description: `changed at ${performance.now()} of ${process.pid}` });
  const request = { method: "PATCH", headers: { ...headers, "Content-Type": "application/json" }, body };
  const answer = await fetch(`${url}/api/v1/epics/EP-001`, request);
  if (!answer.ok) throw new Error(await answer.text());
}

function titleOf(content) {
  return JSON.parse(content.text).title;
}
