"""An agent over HTTP that speaks A2A 1.0 (HTTP+JSON) with Python's standard library alone: it counts words.

    KEY=secret python3 examples/http_agent.py 8300
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 8300
KEY = os.environ.get("KEY", "")
CARD = {
    "name": "word-counter",
    "description": "Counts the words of a text",
    "version": "1.0.0",
    "skills": [],
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "securitySchemes": {"key": {"apiKeySecurityScheme": {"location": "header", "name": "x-api-key"}}},
    "supportedInterfaces": [
        {"url": f"http://127.0.0.1:{PORT}", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
    ],
}


class Agent(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        is_card = self.path == "/.well-known/agent-card.json"
        self.answer(200 if is_card else 404, CARD if is_card else {})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if KEY and self.headers.get("x-api-key") != KEY:
            self.answer(401, {"error": {"code": 401, "message": "the key is missing or wrong"}})
        elif self.path != "/message:send":
            self.answer(404, {"error": {"code": 404, "message": "this agent takes messages alone"}})
        else:
            message = body["message"]
            words = " ".join(part.get("text", "") for part in message["parts"]).split()
            said = {"messageId": message["messageId"] + "-answer", "role": "ROLE_AGENT", "parts": [{"text": f"{len(words)} words"}]}
            self.answer(200, {"message": said})

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/a2a+json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    print(f"http://127.0.0.1:{PORT}", flush=True)
    ThreadingHTTPServer(("127.0.0.1", PORT), Agent).serve_forever()
