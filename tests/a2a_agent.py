"""An agent written with the official SDK of A2A for Python, over all three bindings. The argument is the binding that its card names first. It prints its address when it serves."""

import asyncio
import sys

import grpc
import uvicorn
from a2a.helpers import get_message_text, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Role, a2a_pb2_grpc
from starlette.applications import Starlette


class Executor(AgentExecutor):
    async def execute(self, context, event_queue):
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        text = get_message_text(context.message)
        say = lambda words: updater.new_agent_message([new_text_part(words)])
        await updater.start_work(say("at work"))
        if text == "wait":
            await asyncio.Event().wait()
        if text == "ask":
            await updater.requires_input(say("which colour?"))
            return
        await updater.add_artifact([new_text_part("one ")], artifact_id="picture")
        await updater.add_artifact([new_text_part("two")], artifact_id="picture", append=True, last_chunk=True)
        await updater.complete(say(f"Python: {text}"))

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


async def main(first):
    rpc = grpc.aio.server()
    rpc_port = rpc.add_insecure_port("127.0.0.1:0")
    config = uvicorn.Config(None, host="127.0.0.1", port=0, log_level="warning")
    socket = config.bind_socket()
    url = f"http://127.0.0.1:{socket.getsockname()[1]}"
    interfaces = {
        "JSONRPC": AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0"),
        "HTTP+JSON": AgentInterface(url=url, protocol_binding="HTTP+JSON", protocol_version="1.0"),
        "GRPC": AgentInterface(url=f"127.0.0.1:{rpc_port}", protocol_binding="GRPC", protocol_version="1.0"),
    }
    card = AgentCard(
        name="Python agent",
        description="Draws what it is told",
        version="1.0.0",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="draw", name="Draw", description="Draws", tags=["art"])],
        supported_interfaces=[interfaces.pop(first), *interfaces.values()],
    )
    handler = DefaultRequestHandler(agent_executor=Executor(), task_store=InMemoryTaskStore(), agent_card=card)
    config.app = Starlette(
        routes=[
            *create_agent_card_routes(card),
            *create_jsonrpc_routes(handler, "/rpc"),
            *create_rest_routes(handler),
        ]
    )
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), rpc)
    await rpc.start()
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve(sockets=[socket]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    print(url, flush=True)
    await serving


asyncio.run(main(sys.argv[1]))
