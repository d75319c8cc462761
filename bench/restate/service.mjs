// A service of Restate that answers at once, listening at the port of 127.0.0.1 that it is given.

import * as http2 from "node:http2";
import * as restate from "@restatedev/restate-sdk";

// Node 20 does not have it, and the SDK uses it.
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
