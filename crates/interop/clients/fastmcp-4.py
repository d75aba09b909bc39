"""Has the FastMCP client talk to a stdio server and prints what it saw as one line of JSON.

Usage: fastmcp-4.py handshake|stateless COMMAND [ARGUMENT...]
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp import MCPError


async def main(era, command, *arguments):
    mode = {"handshake": "legacy", "stateless": "auto"}[era]
    server = StdioTransport(command, list(arguments), keep_alive=False)
    async with Client(server, mode=mode, timeout=20) as client:
        context = {"context": "background job processing"}
        seen = {
            "client": "fastmcp",
            "era": era,
            "protocolVersion": client.protocol_version,
            "serverInfo": client.server_info.model_dump(by_alias=True, exclude_none=True),
            "tools": [tool.name for tool in await client.list_tools()],
            "call": first_text(await client.call_tool_mcp("tmkb_query", context), is_error=False),
            "error": first_text(
                await client.call_tool_mcp("tmkb_query", context | {"language": "java"}), is_error=True
            ),
            "unknown": await outcome(client.call_tool_mcp("no_such_tool", {})),
            "ping": await outcome(client.ping()),
        }
    print(json.dumps(seen))


def first_text(result, is_error):
    assert result.is_error is is_error, result
    return result.content[0].text


async def outcome(request):
    """Returns "ok", or the error that came instead of a result."""
    try:
        await request
        return "ok"
    except MCPError as error:
        return {"code": error.code, "message": error.message}


asyncio.run(main(*sys.argv[1:]))
