// How a refusal leaves a NestJS application: as an exception, so that an application's own filters see
// it like any other, and by a filter that sends the response as Sluice wrote it if none of them does.

import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Inject,
} from "@nestjs/common";
import { HttpAdapterHost } from "@nestjs/core";
import type { RateLimitInfo } from "./passage.js";
import type { Reply } from "./refusal.js";

/**
 * Thrown by the guard for a request that is refused. Its status and, as `getResponse()`, its problem are
 * those of the refusal; the RateLimit fields, Retry-After and Cache-Control are on the response already.
 */
export class RateLimitException extends HttpException {
  /** What was decided. */
  readonly info: RateLimitInfo;
  /** The whole response. */
  readonly reply: Reply;

  constructor(info: RateLimitInfo, reply: Reply) {
    super(toBody(reply), reply.status);
    this.info = info;
    this.reply = reply;
  }
}

/** JSON as the object that it says, so that filters which render exceptions keep it. */
function toBody({ fields, body }: Reply): string | object {
  const isJson = fields.some((field) => /^application\/(?:[\w.-]+\+)?json\b/.test(field));
  return isJson ? JSON.parse(body) : body;
}

/** Fields that are about the body: whoever sends another one writes others. */
const ABOUT_BODY = ["Content-Type", "Content-Length"];

/** The fields of a refusal that hold whatever its body is. */
export function fieldsBesidesBody({ fields }: Reply): string[] {
  return fields.filter((_, i) => !ABOUT_BODY.includes(fields[i - (i % 2)]));
}

/** Sends a whole response in the way of the platform. */
export function sendByAdapter(
  { httpAdapter }: HttpAdapterHost,
  response: unknown,
  { status, fields, body }: Reply,
): void {
  for (let i = 0; i < fields.length; i += 2) {
    httpAdapter.setHeader(response, fields[i], fields[i + 1]);
  }
  httpAdapter.reply(response, body, status);
}

/** Sends refusals. Part of `RateLimitModule`; a filter of the application goes before it. */
export class RateLimitFilter implements ExceptionFilter<RateLimitException> {
  readonly #adapters: HttpAdapterHost;

  constructor(adapters: HttpAdapterHost) {
    this.#adapters = adapters;
  }

  catch({ reply }: RateLimitException, host: ArgumentsHost): void {
    sendByAdapter(this.#adapters, host.getArgByIndex(1), reply);
  }
}
Catch(RateLimitException)(RateLimitFilter);
Inject(HttpAdapterHost)(RateLimitFilter, undefined, 0);
