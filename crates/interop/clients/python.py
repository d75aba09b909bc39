"""Has the Python SDK's client talk to a stdio server and prints what it saw as one line of JSON.

Usage: python.py handshake|stateless COMMAND [ARGUMENT...]
"""

import json
import sys
import warnings

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning


async def main(era, command, *arguments):
    mode = {"handshake": "legacy", "stateless": "auto"}[era]
    server = StdioServerParameters(command=command, args=list(arguments))
    async with Client(server, mode=mode, read_timeout_seconds=20) as client:
        context = {"context": "background job processing"}
        seen = {
            "client": "python",
            "era": era,
            "protocolVersion": client.protocol_version,
            "serverInfo": client.server_info.model_dump(by_alias=True, exclude_none=True),
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "call": first_text(await client.call_tool("tmkb_query", context), is_error=False),
            "error": first_text(await client.call_tool("tmkb_query", context | {"language": "java"}), is_error=True),
            "unknown": await outcome(client.call_tool("no_such_tool", {})),
            "ping": await outcome(client.send_ping()),
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


# Ping is gone from 2026-07-28, which is what we want to see; a warning about it is not.
warnings.simplefilter("ignore", MCPDeprecationWarning)
anyio.run(main, *sys.argv[1:])
