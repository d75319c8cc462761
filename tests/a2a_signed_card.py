"""A card that the official SDK of A2A for Python signs and serves. Arguments are the algorithm (ES256 or EdDSA), and `forged` if the card is changed once it is signed. It prints its address when it serves."""

import asyncio
import json
import sys

import uvicorn
from a2a.server.routes import create_agent_card_routes
from a2a.types import AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentSkill
from a2a.utils.signing import create_agent_card_signer
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from google.protobuf.json_format import ParseDict
from jwt.algorithms import ECAlgorithm, OKPAlgorithm
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


def new_key(algorithm):
    """A private key, and its public half as a JWK."""
    if algorithm == "ES256":
        key = ec.generate_private_key(ec.SECP256R1())
        return key, json.loads(ECAlgorithm.to_jwk(key.public_key()))
    key = ed25519.Ed25519PrivateKey.generate()
    return key, json.loads(OKPAlgorithm.to_jwk(key.public_key()))


def card_at(address):
    """A card with what a canonical form can get wrong: defaults that are set, empty values, names out of order, and letters of other scripts."""
    extension = AgentExtension(uri="urn:x", required=False)
    ParseDict({"z": 1.5, "a": "", "ä": [{}, 10], "\u20ac": {"b": None}}, extension.params)
    skill = AgentSkill(id="paint", name="Paint", description="Paints „Bilder“ \U0001f3a8", tags=["art"], examples=[])
    return AgentCard(
        name="signer", description="Signs\tits card", version="1.0.0", documentation_url="",
        capabilities=AgentCapabilities(streaming=False, push_notifications=False, extensions=[extension]),
        default_input_modes=["text/plain"], default_output_modes=["text/plain"], skills=[skill],
        supported_interfaces=[AgentInterface(url=f"{address}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")],
    )


async def main(algorithm, *forged):
    key, public = new_key(algorithm)
    config = uvicorn.Config(None, host="127.0.0.1", port=0, log_level="warning")
    socket = config.bind_socket()
    address = f"http://127.0.0.1:{socket.getsockname()[1]}"
    header = {"kid": "key-1", "alg": algorithm, "jku": f"{address}/keys", "typ": "JOSE"}
    card = create_agent_card_signer(key, header)(card_at(address))
    if forged:
        card.supported_interfaces[0].url = "https://thief.example/rpc"
    keys = {"keys": [{**public, "kid": "key-1", "alg": algorithm, "use": "sig"}]}
    key_set = Route("/keys", lambda _: JSONResponse(keys))
    config.app = Starlette(routes=[*create_agent_card_routes(card), key_set])
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[socket]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    print(address, flush=True)
    await serving


asyncio.run(main(*sys.argv[1:]))
