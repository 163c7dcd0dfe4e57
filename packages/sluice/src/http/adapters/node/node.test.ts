import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { describeFramework } from "../../../../test/http/framework-cases.js";
import {
  type CaseReply,
  type CaseRequest,
  type FrameworkHarness,
  listen,
} from "../../../../test/http/framework-harness.js";
import { type LimitedRequest, type NodeRateLimit, rateLimit } from "./node.js";

/** `node:http` has no errors of its own: the author of a server answers them. */
const harnessOf = (
  name: string,
  toHandler: (limit: NodeRateLimit, handle: Handler) => Handler,
): FrameworkHarness => ({
  name,
  start: ([first, second], handle) => {
    const limit = rateLimit(first as never, second as never);
    const limited = toHandler(limit, async (request, response) => {
      try {
        await answer(response, await handle(toRequest(request as LimitedRequest)));
      } catch {
        fail(response);
      }
    });
    return listen(
      createServer((request, response) =>
        request.url === "/rate_limit"
          ? limit.status(request, response)
          : limited(request, response),
      ),
    );
  },
});

type Handler = (request: IncomingMessage, response: ServerResponse) => unknown;

function fail(response: ServerResponse): void {
  response.statusCode = 500;
  response.end();
}

function toRequest(request: LimitedRequest): CaseRequest {
  return {
    method: request.method ?? "",
    target: request.url ?? "",
    text: () => text(request),
    rateLimit: request.rateLimit,
  };
}

async function answer(response: ServerResponse, reply: CaseReply): Promise<void> {
  const { status = 200, headers = {}, body } = reply;
  response.writeHead(status, headers);
  if (body === undefined || typeof body === "string") response.end(body);
  else await pipeline(Readable.from(body), response).catch(() => {});
}

describeFramework(harnessOf("node:http, wrapped", (limit, handle) => limit.wrap(handle)));
describeFramework(
  harnessOf(
    "node:http, as middleware",
    (limit, handle) => (request, response) =>
      limit(request, response, (error) =>
        error === undefined ? handle(request, response) : fail(response),
      ),
  ),
);
