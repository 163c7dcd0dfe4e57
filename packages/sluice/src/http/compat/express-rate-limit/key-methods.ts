// The methods of express-rate-limit's middleware that take a key.

import type { RequestHandler } from "../../handler/handler.js";

/** What a key has used in its window. */
export interface KeyHits {
  readonly totalHits: number;
  readonly resetTime: Date;
}

/** Methods of the middleware that take a key: what `keyGenerator` returned, or an address. */
export interface KeyMethods {
  /** Forgets what a key has used. */
  resetKey(key: string): Promise<void>;
  /** What a key has used in its window; undefined if it has no window. */
  getKey(key: string): Promise<KeyHits | undefined>;
}

/** The methods over all request handlers of a middleware. */
export function toKeyMethods(handlers: () => readonly RequestHandler[]): KeyMethods {
  return {
    resetKey: async (key) => {
      await Promise.all(handlers().map((handler) => handler.resetKey(String(key))));
    },
    getKey: (key) => hitsOf(handlers(), String(key)),
  };
}

/** If a function chooses the limit, the hits under the limit of which the key has used most. */
async function hitsOf(
  handlers: readonly RequestHandler[],
  key: string,
): Promise<KeyHits | undefined> {
  let most: KeyHits | undefined;
  for (const requestHandler of handlers) {
    const { limit, remaining, resetMs } = await requestHandler.peekKey(key);
    const totalHits = limit - remaining;
    if (resetMs === 0 || totalHits < (most?.totalHits ?? 0)) continue;
    most = { totalHits, resetTime: new Date(requestHandler.wallMs() + resetMs) };
  }
  return most;
}
