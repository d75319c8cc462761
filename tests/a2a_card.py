"""The official client library of A2A for Python checks who signed a card: arguments are the hub's address and an agent's slug."""

import sys

import httpx
from a2a.types import AgentCard
from a2a.utils.signing import InvalidSignaturesError, create_signature_verifier
from google.protobuf.json_format import ParseDict
from jwt.api_jwk import PyJWK


def main(hub, slug):
    keys = httpx.get(f"{hub}/.well-known/jwks.json", timeout=30).json()["keys"]
    served = httpx.get(f"{hub}/agents/{slug}/.well-known/agent-card.json", timeout=30).json()
    card = ParseDict(served, AgentCard(), ignore_unknown_fields=True)

    def key(kid, jku):
        assert jku == "https://hub.example/.well-known/jwks.json", jku
        return PyJWK.from_dict(next(key for key in keys if key["kid"] == kid))

    verify = create_signature_verifier(key, ["ES256", "EdDSA"])
    verify(card)
    card.description += "!"
    try:
        verify(card)
    except InvalidSignaturesError:
        return
    raise AssertionError("another card passes for this one")


main(*sys.argv[1:])
