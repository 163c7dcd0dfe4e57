import { createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import express, { type Request, type Response } from "express";
import { describeFramework } from "../../../../test/http/framework-cases.js";
import {
  type CaseReply,
  type CaseRequest,
  type FrameworkHarness,
  listen,
} from "../../../../test/http/framework-harness.js";
import { type ExpressRateLimit, rateLimit } from "./express.js";

// It comes without types of its own.
const express4 = createRequire(import.meta.url)("express4") as typeof express;

for (const [name, makeApp] of [
  ["Express 5", express],
  ["Express 4", express4],
] as const) {
  const harness: FrameworkHarness = {
    name,
    start: ([first, second], handle) => {
      const app = makeApp();
      // Express logs errors unless it runs under tests.
      app.set("env", "test");
      const limit = (rateLimit as (...args: unknown[]) => ExpressRateLimit)(first, second);
      app.get("/rate_limit", limit.status);
      app.use(limit);
      app.use((request, response, next) => {
        Promise.resolve()
          .then(() => handle(toRequest(request)))
          .then((reply) => answer(response, reply))
          .catch(next);
      });
      return listen(createServer(app));
    },
  };
  describeFramework(harness);
}

function toRequest(request: Request): CaseRequest {
  return {
    method: request.method,
    target: request.originalUrl,
    text: () => text(request),
    rateLimit: request.rateLimit,
  };
}

function answer(response: Response, { status = 200, headers = {}, body }: CaseReply): void {
  response.status(status).set(headers);
  if (body === undefined) response.end();
  else if (typeof body === "string") response.send(body);
  else Readable.from(body).pipe(response);
}
