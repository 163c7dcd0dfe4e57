import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { type FastifyReply, type FastifyRequest, fastify } from "fastify";
import { describeFramework } from "../../../../test/http/framework-cases.js";
import {
  type CaseReply,
  type CaseRequest,
  type FrameworkHarness,
  type RunningServer,
  takeExpecting,
} from "../../../../test/http/framework-harness.js";
import { type FastifyRateLimit, rateLimit } from "./fastify.js";

const harness: FrameworkHarness = {
  name: "Fastify",
  start: async ([first, second], handle): Promise<RunningServer> => {
    const app = fastify({ forceCloseConnections: true });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _payload, done) => done(null));
    const limit = (rateLimit as (...args: unknown[]) => FastifyRateLimit)(first, second);
    app.get("/rate_limit", { config: { rateLimit: false } }, limit.status);
    app.register(limit);
    app.all("*", async (request, reply) => answer(reply, await handle(toRequest(request))));
    takeExpecting(app.server);
    const url = await app.listen({ port: 0, host: "127.0.0.1" });
    return { url, close: () => app.close() };
  },
};

function toRequest(request: FastifyRequest): CaseRequest {
  return {
    method: request.method,
    target: request.url,
    text: () => text(request.raw),
    rateLimit: request.rateLimit ?? undefined,
  };
}

function answer(reply: FastifyReply, { status = 200, headers = {}, body }: CaseReply) {
  reply.code(status).headers(headers);
  return reply.send(
    body === undefined || typeof body === "string"
      ? body
      : Readable.from(body, { objectMode: false }),
  );
}

describeFramework(harness);
