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
import type { RateLimitInfo } from "../../handler/handled-request.js";
import type { WholeResponse } from "../../response/refusal.js";
import { eachField } from "../../response/response-headers.js";

/**
 * Thrown by the guard for a request that is refused. Its status and, as `getResponse()`, its problem are
 * those of the refusal; the RateLimit headers, Retry-After and Cache-Control are on the response already.
 */
export class RateLimitException extends HttpException {
  /** What was decided. */
  readonly info: RateLimitInfo;
  /** The whole response. */
  readonly reply: WholeResponse;

  constructor(info: RateLimitInfo, reply: WholeResponse) {
    super(toBody(reply), reply.status);
    this.info = info;
    this.reply = reply;
  }
}

/** JSON as the object that it says, so that filters which render exceptions keep it. */
function toBody({ fields, body }: WholeResponse): string | object {
  const isJson = fields.some((field) => /^application\/(?:[\w.-]+\+)?json\b/.test(field));
  return isJson ? JSON.parse(body) : body;
}

/** Sends a whole response in the way of the platform. */
export function sendByAdapter(
  { httpAdapter }: HttpAdapterHost,
  response: unknown,
  { status, fields, body }: WholeResponse,
): void {
  eachField(fields, (name, value) => httpAdapter.setHeader(response, name, value));
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
