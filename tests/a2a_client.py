"""What the official client of A2A for Python does with an agent of the hub: arguments are the agent's address and the bindings to use."""

import asyncio
import sys

import grpc
from a2a.client import ClientConfig, create_client
from a2a.helpers import get_stream_response_text, new_text_message
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Role,
    SendMessageRequest,
    TaskState,
)
from a2a.utils.errors import TaskNotCancelableError, TaskNotFoundError


def asked(text):
    return SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))


async def refused(error, call):
    try:
        await call
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")


async def use(url, binding, streaming):
    config = ClientConfig(
        streaming=streaming,
        supported_protocol_bindings=[binding],
        use_client_preference=True,
        grpc_channel_factory=grpc.aio.insecure_channel,
    )
    async with await create_client(url, config) as agent:
        shown = [event async for event in agent.send_message(asked("good day"))]
        assert shown[0].WhichOneof("payload") == "task", shown
        task_id = shown[0].task.id
        if streaming:
            assert get_stream_response_text(shown[-1]) == "Echo: good day", shown
            assert shown[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        else:
            assert len(shown) == 1 and shown[0].task.status.state == TaskState.TASK_STATE_COMPLETED
        task = await agent.get_task(GetTaskRequest(id=task_id, history_length=1))
        assert task.status.state == TaskState.TASK_STATE_COMPLETED and len(task.history) == 1
        listed = await agent.list_tasks(ListTasksRequest(page_size=1))
        assert [task.id for task in listed.tasks] == [task_id]
        await refused(TaskNotCancelableError, agent.cancel_task(CancelTaskRequest(id=task_id)))
        await refused(TaskNotFoundError, agent.get_task(GetTaskRequest(id="made-up")))


async def main(url, bindings):
    for binding in bindings:
        for streaming in (True, False):
            await use(url, binding, streaming)


asyncio.run(main(sys.argv[1], sys.argv[2:]))
