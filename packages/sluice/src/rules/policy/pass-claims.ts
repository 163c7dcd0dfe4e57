// Passes that were used, so that each is good once: in the policy's own store, which other processes over the same store
// see too. A store that does not answer accepts no pass.

import { andThen, type MaybePromise } from "../../base/maybe-promise.js";
import { createLimiter } from "../../limiter/limiter.js";
import type { Limiter } from "../../limiter/limiter-verbs.js";
import { fixedWindow } from "../../limits/limits.js";
import type { PolicySetup } from "./policy-options.js";

/** How long a pass is remembered: longer than any is good for, and the same for all, so that none is good twice. */
const REMEMBERED_MS = 2 * 3_600_000;

/** Claims the ids of passes. */
export class PassClaims {
  /** The region in which passes are good: its store is the one that remembers them. Empty without regions. */
  readonly place: string;
  /** Whether callers can be challenged: not by listeners that see no responses, whose refusals others write. */
  readonly arePossible: boolean;
  readonly #setup: Pick<PolicySetup, "store" | "clock">;
  /** Made when the first pass comes. */
  #limiter: Limiter<false> | undefined = undefined;

  constructor(setup: Pick<PolicySetup, "store" | "clock" | "regions" | "seesResponses">) {
    this.place = setup.regions?.self ?? "";
    this.arePossible = setup.seesResponses;
    this.#setup = setup;
  }

  /**
   * Claims an id. `claimed` only once in the time for which it is remembered; `unavailable` if the store did not answer.
   */
  claim(id: string): MaybePromise<"claimed" | "used" | "unavailable"> {
    const { store, clock } = this.#setup;
    this.#limiter ??= createLimiter({
      // No rule can have a name with a colon.
      name: "challenge:passes",
      limit: fixedWindow({ limit: 1, windowMs: REMEMBERED_MS, align: "first" }),
      store,
      clock,
      onStoreFailure: "closed",
    });
    return andThen(this.#limiter.check(`challenge:${id}`), ({ allowed, source }) => {
      if (allowed) return "claimed";
      return source === "fallback" ? "unavailable" : "used";
    });
  }
}
