// The `echo` server on the TypeScript SDK, with its low-level server and the plain stdio transport: the fastest it has.
import { createRequire } from "node:module";

// This file stands outside the folder that scripts/tools fills, so `import` would not find the packages there.
const require = createRequire(new URL("../../../../.tools/node/", import.meta.url));
const { Server } = require("@modelcontextprotocol/server");
const { StdioServerTransport } = require("@modelcontextprotocol/server/stdio");
const { dependencies } = require("./package.json");

const echo = {
  name: "echo",
  description: "Returns the text it was given.",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
};

const version = dependencies["@modelcontextprotocol/server"];
const server = new Server({ name: "mcp (TypeScript)", version }, { capabilities: { tools: {} } });
server.setRequestHandler("tools/list", () => ({ tools: [echo] }));
server.setRequestHandler("tools/call", ({ params }) => {
  if (params.name !== echo.name) throw new Error(`unknown tool: ${params.name}`);
  return { content: [{ type: "text", text: params.arguments.text }] };
});
await server.connect(new StdioServerTransport());
