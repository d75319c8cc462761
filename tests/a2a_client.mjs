// What the official client of A2A for JavaScript does with the agent of the conformance tests: arguments are the agent's address and the
// bindings to use. AGENTHUB_TEST_NODE is a folder with the packages `@a2a-js/sdk`, `@grpc/grpc-js` and `@bufbuild/protobuf`.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const packages = createRequire(join(process.env.AGENTHUB_TEST_NODE, "package.json"));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const { Role, TaskState } = await load("@a2a-js/sdk");
const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await load("@a2a-js/sdk/client");
const { GrpcTransportFactory } = await load("@a2a-js/sdk/client/grpc");
const grpc = await load("@grpc/grpc-js");

const factories = {
  JSONRPC: () => new JsonRpcTransportFactory(),
  "HTTP+JSON": () => new RestTransportFactory(),
  GRPC: () => new GrpcTransportFactory({ grpcChannelCredentials: grpc.credentials.createInsecure() }),
};

const part = (text) => ({ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" });

const asked = (text, of = {}, returnImmediately = false) => ({
  tenant: "",
  message: {
    messageId: randomUUID(), contextId: "", taskId: "", role: Role.ROLE_USER, parts: [part(text)], metadata: undefined,
    extensions: [], referenceTaskIds: [], ...of,
  },
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
  metadata: undefined,
});

const all = async (stream) => {
  const shown = [];
  for await (const event of stream) shown.push(event.payload);
  return shown;
};
const state = (shown) => shown.value.status?.state;
const text = (message) => message.parts[0].content.value;

async function send(client) {
  const task = await client.sendMessage(asked("tck-complete-task"));
  assert.equal(task.status.state, TaskState.TASK_STATE_COMPLETED);
  assert.equal(text(task.status.message), "Hello from TCK");
  const message = await client.sendMessage(asked("tck-message-response"));
  assert.equal(text(message), "Direct message response");
  const again = await client.getTask({ tenant: "", id: task.id });
  assert.equal(again.id, task.id);
  await assert.rejects(client.getTask({ tenant: "", id: "made-up" }), /made-up/);
  await assert.rejects(client.cancelTask({ tenant: "", id: task.id, metadata: undefined }));
}

async function stream(client) {
  const shown = await all(client.sendMessageStream(asked("tck-stream-artifact-chunked")));
  assert.equal(shown[0].$case, "task");
  const chunks = shown.filter((event) => event.$case === "artifactUpdate").map((event) => event.value);
  assert.deepEqual(chunks.map((chunk) => text(chunk.artifact)), ["chunk-1 ", "chunk-2"]);
  assert.equal(state(shown.at(-1)), TaskState.TASK_STATE_COMPLETED);
}

async function converse(client) {
  const first = await client.sendMessage(asked("ask"));
  assert.equal(first.status.state, TaskState.TASK_STATE_INPUT_REQUIRED);
  const of = { taskId: first.id, contextId: first.contextId };
  const shown = await all(client.sendMessageStream(asked("blue", of)));
  assert.equal(state(shown.at(-1)), TaskState.TASK_STATE_INPUT_REQUIRED);
  const done = await client.sendMessage(asked("large", of));
  assert.equal(text(done.status.message), "a large blue cat");
}

async function cancel(client) {
  const { id } = await client.sendMessage(asked("wait", {}, true));
  const watched = client.resubscribeTask({ tenant: "", id });
  const first = await watched.next();
  assert.equal(first.value.payload.value.id, id);
  const cancelled = await client.cancelTask({ tenant: "", id, metadata: undefined });
  assert.equal(cancelled.status.state, TaskState.TASK_STATE_CANCELED);
  const rest = await all(watched);
  assert.equal(state(rest.at(-1)), TaskState.TASK_STATE_CANCELED);
}

const [url, ...bindings] = process.argv.slice(2);
for (const binding of bindings) {
  const factory = new ClientFactory({ transports: [factories[binding]()], preferredTransports: [binding] });
  const client = await factory.createFromUrl(`${url}/`, ".well-known/agent-card.json");
  for (const step of [send, stream, converse, cancel]) {
    try {
      await step(client);
    } catch (error) {
      console.error(`${binding}, ${step.name}:`, error);
      process.exit(1);
    }
  }
}
process.exit(0);
