// A request of Fastify as request handlers see it, with the address that the app's own `trustProxy` finds.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { MaybePromise } from "../../../base/maybe-promise.js";
import { type BodyBounds, type BodyFields, toFields } from "../../identity/body/body.js";
import { readNodeBody } from "../../identity/body/node-body.js";
import type { HttpRequest } from "../../identity/http-request.js";
import { addressOf } from "./client-address.js";

/** A request of Fastify. */
export class FastifyHttpRequest implements HttpRequest {
  readonly raw: FastifyRequest;
  readonly #reply: FastifyReply | undefined;
  readonly #knowsProxies: boolean;

  /** @param knowsProxies - Whether `identity.trustedProxies` walks the proxies, so Fastify must not. */
  constructor(request: FastifyRequest, reply: FastifyReply | undefined, knowsProxies: boolean) {
    this.raw = request;
    this.#reply = reply;
    this.#knowsProxies = knowsProxies;
  }

  get method(): string {
    return this.raw.method;
  }

  /** As it was sent: `rewriteUrl` may have made another one of it. */
  get target(): string {
    // Where Fastify reads it too, but that would add a property to every request.
    const { originalUrl, url } = this.raw.raw as { originalUrl?: string; url?: string };
    return originalUrl ?? url ?? "/";
  }

  get headers(): HttpRequest["headers"] {
    return this.raw.raw.headers;
  }

  get peer(): string | undefined {
    return this.#knowsProxies ? this.raw.socket.remoteAddress : addressOf(this.raw);
  }

  /** Parsed by Fastify if its turn was before ours, else read ahead. */
  readBody(bounds: BodyBounds): MaybePromise<BodyFields | undefined> {
    const { body } = this.raw;
    if (body !== undefined) return toFields(body);
    return readNodeBody(this.raw.raw, bounds, this.#reply?.raw);
  }
}
