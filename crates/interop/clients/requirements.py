"""Has a client in Python talk to `spexus serve` and prints what it saw as one line of JSON: over HTTP, or through the
command of a bridge.

Usage: requirements.py python|fastmcp handshake|stateless URL TOKEN [COMMAND [ARGUMENT...]]
"""

import asyncio
import json
import sys
import time
import urllib.request
import warnings

import fastmcp
import httpx2
import mcp
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import listen
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import PromptReference

EPIC = "epic://EP-001"
TIME_MAX_S = 20


async def main(name, era, url, token, *command):
    mode = {"handshake": "legacy", "stateless": "auto"}[era]
    endpoint = f"{url}/api/v1/mcp"
    headers = {"Authorization": f"Bearer {token}"}
    told = asyncio.Queue()

    async def hear(message):
        await told.put(message)

    if command:
        environment = {"BACKEND_API_URL": url, "MCP_PAT_TOKEN": token, "LOG_LEVEL": "off"}
        program, *arguments = command
    if name == "python" and command:
        server = StdioServerParameters(command=program, args=arguments, env=environment)
        client = mcp.Client(server, mode=mode, read_timeout_seconds=TIME_MAX_S, message_handler=hear)
    elif command:
        transport = StdioTransport(program, arguments, env=environment, keep_alive=False)
        client = fastmcp.Client(transport, mode=mode, timeout=TIME_MAX_S, message_handler=hear)
    elif name == "python":
        # The subscription stays open as long as it is quiet.
        timeout = httpx2.Timeout(TIME_MAX_S, read=None)
        transport = streamable_http_client(endpoint, http_client=httpx2.AsyncClient(headers=headers, timeout=timeout))
        client = mcp.Client(transport, mode=mode, read_timeout_seconds=TIME_MAX_S, message_handler=hear)
    else:
        transport = StreamableHttpTransport(endpoint, headers=headers)
        client = fastmcp.Client(transport, mode=mode, timeout=TIME_MAX_S, message_handler=hear)
    async with client:
        session = client.session
        completed = await session.complete(
            PromptReference(type="ref/prompt", name="decompose_epic"), {"name": "epic_id", "value": "EP-0"}
        )
        call = await session.call_tool("get_entity", {"reference": "EP-001"})
        read = await session.read_resource(EPIC)
        prompt = await session.get_prompt("decompose_epic", {"epic_id": "EP-001"})
        seen = {
            "protocolVersion": session.protocol_version,
            "tools": len((await session.list_tools()).tools),
            "call": json.loads(call.content[0].text)["title"],
            "read": json.loads(read.contents[0].text)["title"],
            "prompt": prompt.messages[0].content.text,
            "completed": completed.completion.values,
        }
        if era == "stateless":
            async with listen(session, resource_subscriptions=[EPIC]) as subscription:
                change(url, token)
                event = await asyncio.wait_for(anext(aiter(subscription)), TIME_MAX_S)
                seen["updated"] = str(event.uri)
        else:
            await session.subscribe_resource(EPIC)
            seen["updated"] = await asyncio.wait_for(updated(url, token, told), TIME_MAX_S)
    print(json.dumps(seen))


async def updated(url, token, told):
    """The client opens its stream when it likes, so what it is to hear of has to happen after that."""
    while True:
        change(url, token)
        try:
            message = await asyncio.wait_for(told.get(), 0.5)
        except TimeoutError:
            continue
        if message.method == "notifications/resources/updated":
            return str(message.params.uri)


def change(url, token):
    """Changes the epic through REST."""
    request = urllib.request.Request(f"{url}/api/v1/epics/EP-001", method="PATCH")
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/json")
    body = json.dumps({"description": f"changed at {time.time_ns()}"}).encode()
    urllib.request.urlopen(request, body).close()


# Subscribing is gone from 2026-07-28, and done in another way there.
warnings.simplefilter("ignore", MCPDeprecationWarning)
asyncio.run(main(*sys.argv[1:]))
