"""What every client in Python asks a server, once it is connected."""

import json

from mcp import MCPError


async def look(client, tools, call, ping):
    """Prints what the client saw as one line of JSON. The clients differ in how tools, calls and pings are spelt."""
    context = {"context": "background job processing"}
    seen = {
        "protocolVersion": client.protocol_version,
        "serverInfo": client.server_info.model_dump(by_alias=True, exclude_none=True),
        "tools": [tool.name for tool in tools],
        "call": first_text(await call("tmkb_query", context), is_error=False),
        "error": first_text(await call("tmkb_query", context | {"language": "java"}), is_error=True),
        "unknown": await outcome(call("no_such_tool", {})),
        "ping": await outcome(ping()),
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
