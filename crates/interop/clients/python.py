"""Has the Python SDK's client talk to a stdio server and prints what it saw as one line of JSON.

Usage: python.py handshake|stateless COMMAND [ARGUMENT...]
"""

import sys
import warnings

import anyio
from look import look
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning


async def main(era, command, *arguments):
    mode = {"handshake": "legacy", "stateless": "auto"}[era]
    server = StdioServerParameters(command=command, args=list(arguments))
    async with Client(server, mode=mode, read_timeout_seconds=20) as client:
        tools = (await client.list_tools()).tools
        await look(client, tools, client.call_tool, client.send_ping)


# Ping is gone from 2026-07-28, which is what we want to see; a warning about it is not.
warnings.simplefilter("ignore", MCPDeprecationWarning)
anyio.run(main, *sys.argv[1:])
