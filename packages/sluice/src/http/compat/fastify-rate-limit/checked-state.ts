// The status of a request under a limit of `app.createRateLimit()`.

import type { ErrorResponseContext } from "./fastify-options.js";

/** The status of a request under a limit. */
export type CheckedState =
  /** On the allow list, and not counted. */
  | { readonly isAllowed: true; readonly key: string | number }
  | {
      readonly isAllowed: false;
      readonly key: string | number;
      readonly max: number;
      /** In milliseconds; undefined if the limit has no window. */
      readonly timeWindow: number | undefined;
      readonly remaining: number;
      /** Until the window ends, in milliseconds. */
      readonly ttl: ErrorResponseContext["ttl"];
      readonly ttlInSeconds: number;
      readonly isExceeded: boolean;
      readonly isBanned: boolean;
    };
