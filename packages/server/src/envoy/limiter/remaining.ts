// The remaining units of counters that a refusal does not report. A deny cache that knows that one charge of a request is
// refused does not ask the store about the others, but Envoy reports what is left of each. The store is asked, and its
// answer is used for up to a second, so a flood of refused requests still does not reach the store.

import {
  BoundedMap,
  type Charge,
  type Counter,
  type MaybePromise,
  type Store,
  type Verdict,
} from "sluice";

/** How long an answer is used: as long as a deny cache remembers a denial. */
const LIFE_MS_MAX = 1_000;
/** The most answers that are kept. */
const VERDICTS_MAX = 10_000;

interface CachedVerdict {
  readonly counter: Counter;
  readonly cost: number;
  readonly verdict: Verdict;
  readonly atMs: number;
}

/** Whether a verdict holds no information: a deny cache only denies, and did not ask about what it allows. */
export function isUnknown(verdict: Verdict | undefined): boolean {
  return verdict?.source === "deny-cache" && verdict.allowed;
}

/** The remaining units of counters, at most a second old. */
export class RemainingCache {
  readonly #store: Store;
  readonly #known = new BoundedMap<string, CachedVerdict>(VERDICTS_MAX);

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * What the store would answer to each of these charges; undefined if it does not answer.
   *
   * @param options.isFresh - Whether to ask the store even if an answer is cached.
   */
  of(
    charges: readonly Charge[],
    { nowMs, isFresh }: { readonly nowMs: number; readonly isFresh: boolean },
  ): MaybePromise<readonly (Verdict | undefined)[]> {
    const known = charges.map((charge) => (isFresh ? undefined : this.#find(charge, nowMs)));
    const asked = charges.filter((_, i) => known[i] === undefined);
    if (asked.length === 0) return known;
    const answer = this.#store.peek(asked, { blockNowMs: nowMs });
    const join = (verdicts: readonly Verdict[]) => {
      for (const [i, charge] of asked.entries()) this.#keep(charge, verdicts[i], nowMs);
      let next = 0;
      return known.map((verdict) => verdict ?? verdicts[next++]);
    };
    // The refusal stands, whether or not the rest is known.
    return answer instanceof Promise ? answer.then(join, () => known) : join(answer);
  }

  #find({ counter, key, cost }: Charge, nowMs: number): Verdict | undefined {
    const known = this.#known.get(toName(counter, key));
    if (known?.counter !== counter || known.cost !== cost) return undefined;
    const { verdict, atMs } = known;
    const agedMs = nowMs - atMs;
    // Once a counter has reset, more remains.
    const lifeMs = verdict.resetMs > 0 ? Math.min(verdict.resetMs, LIFE_MS_MAX) : LIFE_MS_MAX;
    if (!(agedMs >= 0 && agedMs < lifeMs)) return undefined;
    return { ...verdict, resetMs: Math.max(0, verdict.resetMs - agedMs) };
  }

  #keep({ counter, key, cost }: Charge, verdict: Verdict, atMs: number): void {
    this.#known.set(toName(counter, key), { counter, cost, verdict, atMs });
  }
}

function toName({ scope }: Counter, key: string): string {
  return `${scope}|${key}`;
}
