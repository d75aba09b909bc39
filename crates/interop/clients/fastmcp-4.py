"""Has the FastMCP client talk to a stdio server and prints what it saw as one line of JSON.

Usage: fastmcp-4.py handshake|stateless COMMAND [ARGUMENT...]
"""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from look import look


async def main(era, command, *arguments):
    mode = {"handshake": "legacy", "stateless": "auto"}[era]
    server = StdioTransport(command, list(arguments), keep_alive=False)
    async with Client(server, mode=mode, timeout=20) as client:
        await look(client, await client.list_tools(), client.call_tool_mcp, client.ping)


asyncio.run(main(*sys.argv[1:]))
