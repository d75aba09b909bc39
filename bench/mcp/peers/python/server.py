"""The `echo` server on the Python SDK, with the low-level server: it answers faster than the recommended one."""

import importlib.metadata

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ECHO = types.Tool(
    name="echo",
    description="Returns the text it was given.",
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
        "additionalProperties": False,
    },
)


async def list_tools(context, params):
    return types.ListToolsResult(tools=[ECHO])


async def call_tool(context, params):
    if params.name != ECHO.name:
        raise ValueError(f"unknown tool: {params.name}")
    return types.CallToolResult(content=[types.TextContent(type="text", text=params.arguments["text"])])


async def main():
    version = importlib.metadata.version("mcp")
    server = Server("mcp (Python)", version=version, on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


anyio.run(main)
