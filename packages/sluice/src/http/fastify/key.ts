// The key of a request that is on its way, where somebody has to be told of it: `keyGenerator` is asked
// once, and what it answered is kept on the request.

import type { FastifyRequest } from "fastify";
import { SluiceError, show } from "../../errors.js";
import { tell } from "../../maybe-promise.js";
import type { Door } from "../door.js";

const KEY: unique symbol = Symbol("sluice.key");

type Keyed = FastifyRequest & { [KEY]?: string | undefined };

/** Keeps what `keyGenerator` answered. */
export function setKey(request: FastifyRequest, found: unknown): string {
  const key = typeof found === "number" ? String(found) : found;
  if (typeof key !== "string" || key === "") {
    // As a key it would be shared by all who have none. Whom not to count is for `allowList` to say.
    throw new SluiceError("SLUICE_KEY_INVALID", `keyGenerator answered ${show(found)}`);
  }
  (request as Keyed)[KEY] = key;
  return key;
}

/** What `keyGenerator` answered; without one, the client's address. */
export function keyIn(request: FastifyRequest): string {
  return (request as Keyed)[KEY] ?? request.ip;
}

/** Tells a callback of a request and its key. What it throws changes nothing, and goes to `onError`. */
export function tellWithKey(
  callback: ((request: FastifyRequest, key: string) => unknown) | undefined,
  request: FastifyRequest,
  door: Door,
): void {
  if (callback === undefined) return;
  tell(
    () => callback(request, keyIn(request)),
    (error) => door.onError(error),
  );
}
