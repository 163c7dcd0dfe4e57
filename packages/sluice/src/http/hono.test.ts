import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { describeFramework } from "../../test/http/framework-cases.js";
import {
  type CaseReply,
  type CaseRequest,
  type FrameworkHarness,
  listen,
  toBody,
} from "../../test/http/framework-harness.js";
import { rateLimit } from "./hono.js";

const hono: FrameworkHarness = {
  name: "Hono on Node",
  start: ([first, second], handle) => {
    const app = new Hono();
    app.onError((_error, c) => c.text("Internal Server Error", 500));
    const limit = rateLimit(first as never, second as never);
    app.get("/rate_limit", limit.status);
    app.use(limit);
    app.all("*", async (c) => answer(await handle(toRequest(c))));
    return listen(createServer(getRequestListener(app.fetch)));
  },
};

function toRequest(c: Context): CaseRequest {
  const { pathname, search } = new URL(c.req.url);
  return {
    method: c.req.method,
    target: pathname + search,
    text: () => c.req.text(),
    rateLimit: c.get("rateLimit"),
  };
}

function answer({ status = 200, headers = {}, body }: CaseReply): Response {
  return new Response(toBody(body), { status, headers });
}

describeFramework(hono);
