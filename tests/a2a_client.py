"""What the official client of A2A for Python does with agents of the hub: arguments are the addresses of the echo agent and of the agent of
the conformance tests, and the bindings to use. With a CA and the file of a token, the hub speaks TLS and knows its callers, and has an extended card of
the echo agent."""

import argparse
import asyncio
import pathlib
import ssl

import grpc
import httpx
from a2a.client import ClientConfig, create_client
from a2a.helpers import (
    get_artifact_text,
    get_message_text,
    get_stream_response_text,
    new_text_message,
)
from a2a.types import (
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotCancelableError, TaskNotFoundError


def asked(text, **of):
    return SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER, **of))


def state(shown):
    """The state that an event shows; none for artifacts."""
    payload = getattr(shown, shown.WhichOneof("payload"))
    return payload.status.state if hasattr(payload, "status") else None


async def refused(error, call):
    try:
        await call
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")


async def use(agent, streaming):
    shown = [event async for event in agent.send_message(asked("good day"))]
    assert shown[0].WhichOneof("payload") == "task", shown
    task_id = shown[0].task.id
    assert state(shown[-1]) == TaskState.TASK_STATE_COMPLETED, shown
    if streaming:
        assert get_stream_response_text(shown[-1]) == "Echo: good day", shown
    else:
        assert len(shown) == 1, shown
    task = await agent.get_task(GetTaskRequest(id=task_id, history_length=1))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED and len(task.history) == 1
    listed = await agent.list_tasks(ListTasksRequest(page_size=1))
    assert [task.id for task in listed.tasks] == [task_id]
    await refused(TaskNotCancelableError, agent.cancel_task(CancelTaskRequest(id=task_id)))
    await refused(TaskNotFoundError, agent.get_task(GetTaskRequest(id="made-up")))
    await refused(InvalidParamsError, agent.list_tasks(ListTasksRequest(page_token="made-up")))


async def converse(agent):
    """The agent asks twice in one task."""
    shown = [event async for event in agent.send_message(asked("ask"))]
    task = shown[0].task
    of = {"task_id": task.id, "context_id": task.context_id}
    assert state(shown[-1]) == TaskState.TASK_STATE_INPUT_REQUIRED, shown
    shown = [event async for event in agent.send_message(asked("blue", **of))]
    assert state(shown[-1]) == TaskState.TASK_STATE_INPUT_REQUIRED, shown
    shown = [event async for event in agent.send_message(asked("large", **of))]
    assert state(shown[-1]) == TaskState.TASK_STATE_COMPLETED, shown
    task = await agent.get_task(GetTaskRequest(id=task.id))
    assert get_message_text(task.status.message) == "a large blue cat", task


async def cancel(agent, streaming):
    """The work stops, and every stream says so."""
    request = asked("wait")
    if not streaming:
        request.configuration.CopyFrom(SendMessageConfiguration(return_immediately=True))
    sent = agent.send_message(request)
    task_id = (await anext(sent)).task.id
    streams = []
    if streaming:
        watched = agent.subscribe(SubscribeToTaskRequest(id=task_id))
        first = await anext(watched)
        assert first.task.id == task_id, first
        streams = [watched, sent]
    cancelled = await agent.cancel_task(CancelTaskRequest(id=task_id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED, cancelled
    for stream in streams:
        rest = [event async for event in stream]
        assert state(rest[-1]) == TaskState.TASK_STATE_CANCELED, rest


async def artifacts(agent):
    """Chunks of an artifact as they come."""
    shown = [event async for event in agent.send_message(asked("tck-stream-artifact-chunked"))]
    chunks = [event.artifact_update for event in shown if event.HasField("artifact_update")]
    assert [get_artifact_text(chunk.artifact) for chunk in chunks] == ["chunk-1 ", "chunk-2"], shown
    assert chunks[1].append and chunks[1].last_chunk, chunks


def access(of):
    """How the hub is reached, for the client's configuration."""
    if of.ca is None:
        return {
            "grpc_channel_factory": grpc.aio.insecure_channel,
            "httpx_client": httpx.AsyncClient(timeout=30),
        }
    token = pathlib.Path(of.token_file).read_text(encoding="utf-8").strip()
    both = grpc.composite_channel_credentials(
        grpc.ssl_channel_credentials(pathlib.Path(of.ca).read_bytes()),
        grpc.access_token_call_credentials(token),
    )
    return {
        "grpc_channel_factory": lambda address: grpc.aio.secure_channel(address, both),
        "httpx_client": httpx.AsyncClient(
            verify=ssl.create_default_context(cafile=of.ca),
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
        ),
    }


async def main(of):
    for binding in of.bindings:
        for streaming in (True, False):
            config = ClientConfig(
                streaming=streaming,
                supported_protocol_bindings=[binding],
                use_client_preference=True,
                **access(of),
            )
            async with await create_client(of.echo, config) as agent:
                await use(agent, streaming)
                if of.ca is not None:
                    card = await agent.get_extended_agent_card(GetExtendedAgentCardRequest())
                    assert card.description == "More of it", card
            async with await create_client(of.conformance, config) as agent:
                await converse(agent)
                await cancel(agent, streaming)
                if streaming:
                    await artifacts(agent)


parser = argparse.ArgumentParser()
parser.add_argument("echo")
parser.add_argument("conformance")
parser.add_argument("bindings", nargs="+")
parser.add_argument("--ca")
parser.add_argument("--token-file")
asyncio.run(main(parser.parse_args()))
