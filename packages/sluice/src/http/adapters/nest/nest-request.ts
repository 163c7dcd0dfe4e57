// A NestJS request as request handlers see it, on Express and on Fastify.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import { type BodyBounds, type BodyFields, toFields } from "../../identity/body/body.js";
import { readNodeBody } from "../../identity/body/node-body.js";
import type { HttpRequest } from "../../identity/http-request.js";
import type { NestCall } from "./limit-scope.js";

/** Fastify keeps the request of `node:http` inside its own; Express extends it. */
export function toRaw<T>(outer: object): T {
  return ((outer as { raw?: object }).raw ?? outer) as T;
}

/** A request of either platform. */
export class NestHttpRequest implements HttpRequest {
  readonly raw: object;
  readonly context: NestCall | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse | undefined;

  constructor(request: object, response?: ServerResponse, call?: NestCall) {
    this.raw = request;
    this.context = call;
    this.#response = response;
    this.#request = toRaw(request);
  }

  get method(): string {
    return this.#request.method ?? "GET";
  }

  get target(): string {
    return (this.raw as { originalUrl?: string }).originalUrl ?? this.#request.url ?? "/";
  }

  get headers(): HttpRequest["headers"] {
    return this.#request.headers;
  }

  get peer(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined> {
    const { body } = this.raw as { body?: unknown };
    if (body !== undefined && body !== null) return toFields(body);
    return readNodeBody(this.#request, bounds, this.#response);
  }
}
