// A Restate service that answers at once, listening on the given port of 127.0.0.1.

import * as http2 from "node:http2";
import * as restate from "@restatedev/restate-sdk";

// Missing in Node 20, and used by the SDK.
Promise.withResolvers ??= function () {
  const made = {};
  made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
};

const ANSWER = "a".repeat(100);

const work = restate.service({
  name: "Work",
  handlers: { answer: async () => ANSWER },
});

const handler = restate.createEndpointHandler({ services: [work] });
http2.createServer(handler).listen(Number(process.argv[2]), "127.0.0.1");
