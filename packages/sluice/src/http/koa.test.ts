import { createServer } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import Koa, { type Context } from "koa";
import { describeFramework } from "../../test/http/framework-cases.js";
import {
  type CaseInfo,
  type CaseReply,
  type CaseRequest,
  type FrameworkHarness,
  listen,
} from "../../test/http/framework-harness.js";
import { rateLimit } from "./koa.js";

const koa: FrameworkHarness = {
  name: "Koa",
  start: ([first, second], handle) => {
    const app = new Koa();
    app.silent = true;
    const limit = rateLimit(first as never, second as never);
    app.use((ctx, next) => (ctx.path === "/rate_limit" ? limit.status(ctx) : next()));
    app.use(limit);
    app.use(async (ctx) => answer(ctx, await handle(toRequest(ctx))));
    return listen(createServer(app.callback()));
  },
};

function toRequest(ctx: Context): CaseRequest {
  return {
    method: ctx.method,
    target: ctx.url,
    text: () => text(ctx.req),
    rateLimit: ctx.state.rateLimit as CaseInfo | undefined,
  };
}

function answer(ctx: Context, { status = 200, headers = {}, body }: CaseReply): void {
  ctx.status = status;
  ctx.set(headers);
  if (body !== undefined) ctx.body = typeof body === "string" ? body : Readable.from(body);
}

describeFramework(koa);
