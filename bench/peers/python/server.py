"""The measured server on the Python SDK: one tool over HTTP, sessions kept, JSON answers. Prints its URL.

    python server.py
"""

import asyncio
import socket

import uvicorn
from mcp.server import MCPServer
from mcp.types import CallToolResult, TextContent

offered = MCPServer("bench", version="1", log_level="CRITICAL")


@offered.tool(description="Says it again")
async def echo(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="said")])


# With the protocol named, asyncio sends small answers at once.
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
listening.bind(("127.0.0.1", 0))
listening.listen(1024)
print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
config = uvicorn.Config(offered.streamable_http_app(json_response=True), log_level="critical", access_log=False)
asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
