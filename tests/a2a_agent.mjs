// An agent written with the official SDK of A2A for JavaScript, over all three bindings. The argument is the binding that its card names first.
// It prints its address when it serves. AGENTHUB_TEST_NODE is a folder with the packages `@a2a-js/sdk`, `express`, `@grpc/grpc-js` and
// `@bufbuild/protobuf`.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const packages = createRequire(join(process.env.AGENTHUB_TEST_NODE, "package.json"));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const { AGENT_CARD_PATH, Role, TaskState } = await load("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = await load("@a2a-js/sdk/server");
const { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } = await load("@a2a-js/sdk/server/express");
const { A2AService, grpcService } = await load("@a2a-js/sdk/server/grpc");
const grpc = await load("@grpc/grpc-js");
const { default: express } = await load("express");

const part = (text) => ({ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" });

class Executor {
  // Ends what waits, by task.
  waiting = new Map();

  say(bus, taskId, contextId, state, words) {
    const message = {
      messageId: randomUUID(), contextId, taskId, role: Role.ROLE_AGENT, parts: [part(words)], metadata: undefined, extensions: [],
      referenceTaskIds: [],
    };
    const status = { state, message, timestamp: new Date().toISOString() };
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }));
  }

  draw(bus, taskId, contextId, words, append, lastChunk) {
    const artifact = { artifactId: "picture", name: "", description: "", parts: [part(words)], metadata: undefined, extensions: [] };
    bus.publish(AgentEvent.artifactUpdate({ taskId, contextId, artifact, append, lastChunk, metadata: undefined }));
  }

  async execute(request, bus) {
    const { taskId, contextId, userMessage, task } = request;
    const text = userMessage.parts.map((one) => (one.content?.$case === "text" ? one.content.value : "")).join("\n");
    const submitted = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() };
    bus.publish(
      AgentEvent.task(task ?? { id: taskId, contextId, status: submitted, artifacts: [], history: [userMessage], metadata: undefined }),
    );
    this.say(bus, taskId, contextId, TaskState.TASK_STATE_WORKING, "at work");
    if (text === "wait") {
      await new Promise((end) => this.waiting.set(taskId, end));
      this.waiting.delete(taskId);
      return;
    }
    if (text === "ask") {
      this.say(bus, taskId, contextId, TaskState.TASK_STATE_INPUT_REQUIRED, "which colour?");
      return;
    }
    this.draw(bus, taskId, contextId, "one ", false, false);
    this.draw(bus, taskId, contextId, "two", true, true);
    this.say(bus, taskId, contextId, TaskState.TASK_STATE_COMPLETED, `JavaScript: ${text}`);
    bus.finished();
  }

  async cancelTask(taskId, bus) {
    this.say(bus, taskId, "", TaskState.TASK_STATE_CANCELED, "as you like");
    bus.finished();
    this.waiting.get(taskId)?.();
  }
}

const first = process.argv[2];
const card = {
  name: "JavaScript agent",
  description: "Draws what it is told",
  version: "1.0.0",
  provider: undefined,
  documentationUrl: undefined,
  iconUrl: undefined,
  capabilities: { streaming: true, pushNotifications: false, extensions: [], extendedAgentCard: false },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [
    {
      id: "draw", name: "Draw", description: "Draws", tags: ["art"], examples: [], inputModes: [], outputModes: [], securityRequirements: [],
    },
  ],
  signatures: [],
  supportedInterfaces: [],
};
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Executor());
const userBuilder = UserBuilder.noAuthentication;

const rpc = new grpc.Server();
rpc.addService(A2AService, grpcService({ requestHandler, userBuilder }));
const rpcPort = await new Promise((bound, failed) =>
  rpc.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, port) => (error ? failed(error) : bound(port))),
);

const app = express();
app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder }));
app.use("/rest", restHandler({ requestHandler, userBuilder }));
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${server.address().port}`;

const at = (protocolBinding, address) => ({ url: address, protocolBinding, protocolVersion: "1.0", tenant: "" });
const interfaces = [at("JSONRPC", `${url}/rpc`), at("HTTP+JSON", `${url}/rest`), at("GRPC", `127.0.0.1:${rpcPort}`)];
card.supportedInterfaces = interfaces.toSorted((one, other) => (other.protocolBinding === first) - (one.protocolBinding === first));
console.log(url);
