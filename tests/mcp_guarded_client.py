"""Uses the hub's agents over MCP with TLS and a token, as any client of the official library for Python does.

Usage: mcp_guarded_client.py MCP_URL CA TOKEN_FILE ISSUER

Without a token the client is refused, and finds by the library's own means who issues tokens: ISSUER. With the token it lists the tools and calls the
echo agent, with both protocols. Any surprise is an error.
"""

import pathlib
import ssl
import sys

import anyio
import httpx2
from mcp import Client
from mcp.client.auth.utils import (
    build_protected_resource_metadata_discovery_urls,
    extract_field_from_www_auth,
    extract_resource_metadata_from_www_auth,
    handle_protected_resource_response,
)
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth_utils import check_resource_allowed, resource_url_from_server_url
from mcp.types import TextContent


def client_of(ca: str, token: str | None) -> httpx2.AsyncClient:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx2.AsyncClient(verify=ssl.create_default_context(cafile=ca), headers=headers, timeout=60)


async def discover(url: str, ca: str, issuer: str) -> None:
    async with client_of(ca, None) as client:
        refused = await client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert refused.status_code == 401, refused
        named = extract_resource_metadata_from_www_auth(refused)
        assert named is not None, refused.headers
        for place in build_protected_resource_metadata_discovery_urls(named, url):
            metadata = await handle_protected_resource_response(await client.get(place))
            assert metadata is not None, place
            assert [str(server).rstrip("/") for server in metadata.authorization_servers] == [issuer.rstrip("/")], metadata
            wanted = resource_url_from_server_url(url)
            assert check_resource_allowed(wanted, str(metadata.resource)), metadata
    async with client_of(ca, "ah_wrong") as client:
        refused = await client.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert refused.status_code == 401, refused
        assert extract_field_from_www_auth(refused, "error") == "invalid_token", refused.headers


async def use(url: str, ca: str, token: str, mode: str) -> str:
    async with client_of(ca, token) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=60) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            assert "agent_echo" in tools, tools
            echoed = await client.call_tool("agent_echo", {"request": "hello from Python"})
            assert not echoed.is_error, echoed
            texts = [block.text for block in echoed.content if isinstance(block, TextContent)]
            assert any("hello from Python" in text for text in texts), echoed
            return client.protocol_version


async def main() -> None:
    url, ca, token_file, issuer = sys.argv[1:]
    token = pathlib.Path(token_file).read_text(encoding="utf-8").strip()
    await discover(url, ca, issuer)
    protocols = [await use(url, ca, token, mode) for mode in ("legacy", "auto")]
    assert "2026-07-28" in protocols and len(set(protocols)) == 2, protocols


anyio.run(main)
