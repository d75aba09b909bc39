"""Has the Python SDK's client talk to `duvet mcp` in the current folder and prints what it saw as one line of JSON.

Usage: duvet.py handshake|stateless COMMAND [ARGUMENT...]
"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters


async def main(era, command, *arguments):
    mode = {"handshake": "legacy", "stateless": "auto"}[era]
    server = StdioServerParameters(command=command, args=list(arguments), cwd=os.getcwd())
    async with Client(server, mode=mode, read_timeout_seconds=20) as client:
        read = await client.read_resource("duvet:///citations")
        call = await client.call_tool("search_requirements", {"query": "lid"})
        seen = {
            "protocolVersion": client.protocol_version,
            "tools": len((await client.list_tools()).tools),
            "templates": len((await client.list_resource_templates()).resource_templates),
            "read": read.contents[0].text,
            "call": call.content[0].text,
        }
        print(json.dumps(seen))


anyio.run(main, *sys.argv[1:])
