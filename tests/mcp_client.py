"""Uses the hub's agents as any client of the official MCP library for Python does.

Usage: mcp_client.py stdio AGENTHUB HUB_URL CALLS_FILE | mcp_client.py http MCP_URL - CALLS_FILE

The hub is to have the echo agent `agent_echo` and the agent `agent_press`, which shows what it does and works until it is let go. Lists
the tools, calls both, sees progress, and cancels a call. Prints one line of JSON per protocol with what it found; any surprise is an error.
"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import TextContent


def texts(result) -> list[str]:
    return [block.text for block in result.content if isinstance(block, TextContent)]


def begun(path: str) -> int:
    try:
        with open(path, encoding="utf-8") as lines:
            return sum(1 for _ in lines)
    except FileNotFoundError:
        return 0


async def use(server, mode: str, calls: str) -> dict:
    seen: list[tuple[float, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, message))

    async with Client(server, mode=mode, read_timeout_seconds=60) as client:
        assert client.server_capabilities.tools is not None
        listed = await client.list_tools()
        tools = {tool.name: tool for tool in listed.tools}
        echo = tools["agent_echo"]
        assert echo.input_schema["type"] == "object", echo
        assert "request" in echo.input_schema["required"], echo

        echoed = await client.call_tool("agent_echo", {"request": "hello from Python"})
        assert not echoed.is_error, echoed
        assert any("hello from Python" in text for text in texts(echoed)), echoed

        unfit = await client.call_tool("agent_echo", {"words": "hello"})
        assert unfit.is_error, unfit
        assert any("request" in text for text in texts(unfit)), unfit

        # Cancels a call while its agent works.
        before = begun(calls)
        request = {"request": "press hello on the printing press"}
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:

                async def call() -> None:
                    await client.call_tool("agent_press", request, progress_callback=on_progress)

                group.start_soon(call)
                with anyio.fail_after(30):
                    while begun(calls) == before or not seen:
                        await anyio.sleep(0.05)
                scope.cancel()

        numbers = [number for number, _ in seen]
        assert numbers == sorted(set(numbers)), seen
        assert any(message for _, message in seen), seen
        again = await client.call_tool("agent_echo", {"request": "still here"})
        assert not again.is_error, again
        return {
            "mode": mode,
            "protocol": client.protocol_version,
            "tools": sorted(tools),
            "progress": [message for _, message in seen],
        }


async def main() -> None:
    kind, where, hub, calls = sys.argv[1:]
    for mode in ("legacy", "auto"):
        server = where
        if kind == "stdio":
            server = StdioServerParameters(command=where, args=["mcp", "--hub", hub], cwd=os.getcwd())
        print(json.dumps(await use(server, mode, calls)), flush=True)


anyio.run(main)
