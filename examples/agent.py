"""An agent in Python over plain gRPC: it counts the words of what it is asked. `docs/AGENTS.md` goes through it step by step.

    python examples/agent.py 127.0.0.1:50051
    python examples/agent.py hub.example:50051 --ca ca.pem --token-file words.token
"""

import argparse
import itertools
import pathlib
import queue
import sys
import threading
import time
import uuid

import grpc
from agenthub_wire import a2a_core_pb2 as a2a
from agenthub_wire import connect_pb2 as connect
from agenthub_wire import eventbus_pb2_grpc as hub
from agenthub_wire import events_pb2 as events

AGENT = "words"
# Names this process, also after a reconnect: what it has of its mail stays its own.
INSTANCE = str(uuid.uuid4())
# How many requests may come before the agent gives more credit.
CREDIT = 16


def hello():
    card = a2a.AgentCard(
        protocol_version="0.2.9",
        name=AGENT,
        description="Counts the words of a text",
        version="1.0.0",
        skills=[
            a2a.AgentSkill(
                id="count",
                name="count",
                description="Counts the words of a text",
                examples=["count the words of: so it goes"],
            )
        ],
    )
    work = connect.Subscription(
        name="work",
        lifetime=connect.LIFETIME_DURABLE,
        filter=connect.Filter(kinds=[connect.EVENT_KIND_MESSAGE], concern=connect.CONCERN_WORK),
        credit=CREDIT,
    )
    return connect.AgentFrame(
        hello=connect.Hello(protocol_version=1, agent_card=card, instance_id=INSTANCE, subscription=[work])
    )


def answer(event, sequence):
    """One frame: the result, the end of the task, the acknowledgement and credit for one more. The hub takes it as a whole."""
    message = event.message
    text = " ".join(part.text for part in message.content)
    about = {"task_id": message.task_id, "context_id": message.context_id}
    artifact = events.TaskArtifactUpdateEvent(
        artifact=a2a.Artifact(artifact_id="count", parts=[a2a.Part(text=f"{len(text.split())} words")]),
        last_chunk=True,
        **about,
    )
    status = events.TaskStatusUpdateEvent(
        status=a2a.TaskStatus(state=a2a.TASK_STATE_COMPLETED), final=True, **about
    )
    routing = events.AgentEventMetadata(from_agent_id=AGENT)
    return connect.AgentFrame(
        publish=[
            connect.Publish(sequence=next(sequence), artifact_update=artifact, routing=routing),
            connect.Publish(sequence=next(sequence), status_update=status, routing=routing),
        ],
        ack=[connect.Ack(subscription=0, position=[event.position])],
        credit=[connect.Credit(subscription=0, messages=1)],
    )


def connect_to(hub):
    """The channel, with TLS if there is a CA."""
    if hub.ca is None:
        return grpc.insecure_channel(hub.address)
    return grpc.secure_channel(hub.address, grpc.ssl_channel_credentials(pathlib.Path(hub.ca).read_bytes()))


def shown(hub):
    """What calls show of who makes them."""
    if hub.token_file is None:
        return []
    token = pathlib.Path(hub.token_file).read_text(encoding="utf-8").strip()
    return [("authorization", f"Bearer {token}")]


def serve(to):
    """Serves until the connection breaks."""
    frames = queue.SimpleQueue()
    frames.put(hello())
    gone = threading.Event()

    def beat(interval):
        while not gone.wait(interval):
            frames.put(connect.AgentFrame(heartbeat=connect.Heartbeat()))

    sequence = itertools.count(1)
    try:
        with connect_to(to) as channel:
            for frame in hub.AgentHubStub(channel).Connect(iter(frames.get, None), metadata=shown(to)):
                if frame.HasField("welcome"):
                    print("connected", flush=True)
                    interval = frame.welcome.heartbeat_interval.ToTimedelta().total_seconds()
                    threading.Thread(target=beat, args=[interval / 2], daemon=True).start()
                for event in frame.event:
                    if event.HasField("message") and event.message.task_id:
                        frames.put(answer(event, sequence))
                    else:
                        ack = connect.Ack(subscription=0, position=[event.position])
                        more = connect.Credit(subscription=0, messages=1)
                        frames.put(connect.AgentFrame(ack=[ack], credit=[more]))
                for result in frame.result:
                    if result.code != 0:
                        print("refused:", result.error, file=sys.stderr)
    finally:
        gone.set()
        frames.put(None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address", help="the hub's address of gRPC, HOST:PORT")
    parser.add_argument("--ca", help="file of the CA of the hub's certificate: the hub speaks TLS")
    parser.add_argument("--token-file", help="file of the token by which the hub knows this agent")
    to = parser.parse_args()
    while True:
        try:
            serve(to)
        except grpc.RpcError as error:
            print(error.code().name, error.details(), file=sys.stderr)
        time.sleep(1)


main()
