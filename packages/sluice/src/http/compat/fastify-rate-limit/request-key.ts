// The key of a request, for callbacks and for `createRateLimit`: `keyGenerator` is called once for each request,
// and what it returned is kept on the request.

import type { FastifyRequest } from "fastify";
import { notify } from "../../../base/maybe-promise.js";
import { normalizeIP } from "../../exchange/fastify/client-address.js";
import type { RequestHandler } from "../../handler/handler.js";
import { toKey } from "../handler-choice.js";

const KEY: unique symbol = Symbol("sluice.key");

/** What `keyGenerator` returns. */
export type GeneratedKey = string | number;

type Keyed = FastifyRequest & { [KEY]?: GeneratedKey | undefined };

/** Keeps what `keyGenerator` returned. Throws if it is not a key. */
export function setKey(request: FastifyRequest, found: unknown): GeneratedKey {
  toKey("keyGenerator", found);
  (request as Keyed)[KEY] = found as GeneratedKey;
  return found as GeneratedKey;
}

/** What `keyGenerator` returned; without one, the client's address. */
export function keyIn(request: FastifyRequest): GeneratedKey {
  return (request as Keyed)[KEY] ?? normalizeIP(request.ip);
}

/** The same as it is counted. */
export function countedKeyIn(request: FastifyRequest): string {
  return String(keyIn(request));
}

/** Calls a callback with a request and its key. Exceptions that it throws go to `onError` and changes nothing else. */
export function notifyWithKey(
  callback: ((request: FastifyRequest, key: never) => unknown) | undefined,
  request: FastifyRequest,
  requestHandler: RequestHandler,
): void {
  if (callback === undefined) return;
  notify(
    () => callback(request, keyIn(request) as never),
    (error) => requestHandler.onError(error),
  );
}
