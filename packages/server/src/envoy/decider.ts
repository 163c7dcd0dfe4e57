// Both ways in, gRPC and JSON, ask here: a request is decided, timed, and errors are distinguished:
// a malformed request, and a failure of ours.

import type { MaybePromise } from "sluice";
import { readMs } from "../base/clock.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { RequestError } from "./check-request.js";
import type { EnvoyLimiter } from "./limiter/limiter.js";
import { CODE, type RateLimitRequest, type RateLimitResponse } from "./messages.js";
import { MalformedError } from "./wire/reader.js";

/** The status that Envoy is assumed to send for a refused request. */
const TOO_MANY_REQUESTS = 429;

/** Receives the answer to a request, or why there is none. */
export interface Receiver {
  answered(response: RateLimitResponse): void;
  /** `isTheirs`: the request is at fault; `why` may then be shown. */
  failed(why: string, isTheirs: boolean): void;
}

/** Decides requests for a listener. */
export class Decider {
  readonly #limiter: EnvoyLimiter;
  readonly #telemetry: Telemetry;

  constructor(limiter: EnvoyLimiter, telemetry: Telemetry) {
    this.#limiter = limiter;
    this.#telemetry = telemetry;
  }

  /** Reads and decides a request. The answer is synchronous wherever the store's is. */
  decide(read: () => RateLimitRequest, receiver: Receiver): void {
    const startMs = readMs();
    try {
      const response: MaybePromise<RateLimitResponse> = this.#limiter.decide(read());
      if (!(response instanceof Promise)) this.#answer(response, startMs, receiver);
      else {
        response
          .then((late) => this.#answer(late, startMs, receiver))
          .catch((error) => this.#fail(error, receiver));
      }
    } catch (error) {
      this.#fail(error, receiver);
    }
  }

  #answer(response: RateLimitResponse, startMs: number, receiver: Receiver): void {
    this.#telemetry.tookMs("envoy", readMs() - startMs);
    if (response.overallCode === CODE.overLimit) {
      this.#telemetry.refused("envoy", TOO_MANY_REQUESTS);
    }
    receiver.answered(response);
  }

  #fail(error: unknown, receiver: Receiver): void {
    const isTheirs = error instanceof RequestError || error instanceof MalformedError;
    if (!isTheirs) this.#telemetry.problem("Envoy: a request could not be decided", error);
    receiver.failed(isTheirs ? error.message : "the request could not be decided", isTheirs);
  }
}
