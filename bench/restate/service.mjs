// Restate services, one that answers at once, and one that calls it three times, one after the other; listening on the given port of 127.0.0.1.

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

const chain = restate.service({
  name: "Chain",
  handlers: {
    run: async (ctx, text) => {
      for (let step = 0; step < 3; step++) text = await ctx.serviceClient(work).answer(text);
      return text;
    },
  },
});

const handler = restate.createEndpointHandler({ services: [work, chain] });
http2.createServer(handler).listen(Number(process.argv[2]), "127.0.0.1");
