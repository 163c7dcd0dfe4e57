// The key of a request, for callbacks and for `createRateLimit`: `keyGenerator` is called once for each request,
// and what it returned is kept on the request.

import type { FastifyRequest } from "fastify";
import { SluiceError, show } from "../../errors.js";
import { tell } from "../../maybe-promise.js";
import type { Door } from "../door.js";
import { normalizeIP } from "./address.js";

const KEY: unique symbol = Symbol("sluice.key");

/** What `keyGenerator` returns. */
export type FoundKey = string | number;

type Keyed = FastifyRequest & { [KEY]?: FoundKey | undefined };

/** Keeps what `keyGenerator` returned. */
export function setKey(request: FastifyRequest, found: unknown): FoundKey {
  const isKey = typeof found === "number" || (typeof found === "string" && found !== "");
  if (!isKey) {
    // As a key it would be shared by all callers without one. `allowList` says which callers are not counted.
    throw new SluiceError("SLUICE_KEY_INVALID", `keyGenerator answered ${show(found)}`);
  }
  (request as Keyed)[KEY] = found;
  return found;
}

/** What `keyGenerator` returned; without one, the client's address. */
export function keyIn(request: FastifyRequest): FoundKey {
  return (request as Keyed)[KEY] ?? normalizeIP(request.ip);
}

/** The same as it is counted. */
export function countedKeyIn(request: FastifyRequest): string {
  return String(keyIn(request));
}

/** Calls a callback with a request and its key. What it throws goes to `onError` and changes nothing else. */
export function tellWithKey(
  callback: ((request: FastifyRequest, key: never) => unknown) | undefined,
  request: FastifyRequest,
  door: Door,
): void {
  if (callback === undefined) return;
  tell(
    () => callback(request, keyIn(request) as never),
    (error) => door.onError(error),
  );
}
