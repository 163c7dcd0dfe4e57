// Answers when a store does not: by the failure policy of each charge, and for several charges by the strictest of
// them. Under "local" a memory store decides with a share of each limit. What it admits is also settled there, so its
// receipts are marked.

import { WINDOW_MS_MAX } from "../../../algorithms/numbers.js";
import type { Verdict } from "../../../base/decision.js";
import { fixedWindow, type Limit, scaleLimit } from "../../../limits/limits.js";
import { type MemoryStore, memoryStore } from "../../memory/memory-store.js";
import type {
  Charge,
  ChargeReceipt,
  Counter,
  DecideOptions,
  FailurePolicy,
  Outcome,
  PeekOptions,
  Settling,
} from "../../store.js";
import { StoreBusy, toUnavailable } from "../store-failure.js";

/** What is known about the store that does not answer. */
export interface Absence {
  readonly failure: unknown;
  /** Until it may be asked again. */
  readonly retryAfterMs: number;
}

/** What a fallback is made of. */
export interface FallbackOptions {
  readonly onStoreFailure: FailurePolicy;
  readonly localShare: number;
  readonly keysMax: number;
}

/** Marks a receipt of the fallback. A charge that passed uncounted has nothing to settle. */
class FallbackProof {
  readonly receipt: ChargeReceipt | undefined;

  constructor(receipt?: ChargeReceipt) {
    this.receipt = receipt;
  }
}

/** Whether a settling belongs to the fallback and not to the store. */
export function isOfFallback({ receipt }: Settling): boolean {
  return receipt.proof instanceof FallbackProof;
}

/** Answers in a store's place. */
export class Fallback {
  readonly #options: FallbackOptions;
  readonly #memory: MemoryStore;
  readonly #locals = new WeakMap<Counter, Counter>();
  readonly #originals = new WeakMap<Counter, Counter>();
  #hasDecided = false;
  #hasBlocks = false;

  constructor(options: FallbackOptions) {
    this.#options = options;
    this.#memory = memoryStore({ keysMax: options.keysMax });
  }

  /** The verdict on one charge. Throws what a caller under `"throw"` has to see. */
  decideOne(charge: Charge, options: PeekOptions, absence: Absence): Verdict {
    const { counter, key, cost, nowMs } = charge;
    if (this.#policyOf(charge, absence) !== "local")
      return this.decide([charge], options, absence).verdicts[0];
    this.#hasDecided = true;
    const { blockNowMs } = options;
    return asFallback(this.#memory.decideOne(this.#local(counter), key, cost, nowMs, blockNowMs));
  }

  /** Decides all or nothing. Throws what a caller under `"throw"` has to see. */
  decide(charges: readonly Charge[], options: DecideOptions, absence: Absence): Outcome {
    const unasked = this.#answerUnasked(charges, options, absence);
    const isRefused = unasked.some(
      (verdict, i) => verdict?.allowed === false && isEnforced(charges[i]),
    );
    const local = this.#localsOf(charges, absence);
    const outcome = isRefused
      ? { allowed: false, verdicts: this.#peekLocal(local, options), receipts: [] }
      : this.#decideLocal(local, options);
    const verdicts = weave(unasked, outcome.verdicts);
    if (!outcome.allowed || !options.hold) return { ...outcome, verdicts };
    const passed = charges.filter((_, i) => unasked[i]?.allowed);
    const receipts = [
      ...outcome.receipts.map((receipt) => this.#mark(receipt)),
      ...passed.map(markPassed),
    ];
    return { allowed: true, verdicts, receipts };
  }

  /** Returns what `decide` would answer. */
  peek(charges: readonly Charge[], options: PeekOptions, absence: Absence): readonly Verdict[] {
    const unasked = this.#answerUnasked(charges, options, absence);
    return weave(unasked, this.#peekLocal(this.#localsOf(charges, absence), options));
  }

  /** Settles what {@link isOfFallback}. */
  settle(settlings: readonly Settling[]): void {
    const local = settlings.flatMap((settling) => {
      const { receipt } = settling.receipt.proof as FallbackProof;
      return receipt === undefined ? [] : [{ ...settling, receipt }];
    });
    this.#memory.settle(local);
  }

  refund(charges: readonly Charge[]): void {
    if (this.#hasDecided) this.#memory.refund(this.#localsOf(charges));
  }

  reset(charges: readonly Charge[]): void {
    if (this.#hasDecided) this.#memory.reset(this.#localsOf(charges));
  }

  forget(counter: Counter): void {
    const local = this.#locals.get(counter);
    if (local !== undefined) this.#memory.forget(local);
  }

  block(scope: string, key: string, until: { untilMs: number; nowMs: number }): void {
    this.#hasBlocks = true;
    this.#memory.block(scope, key, until);
  }

  /** Blocks a key, unless a block is in force that lasts longer. */
  blockAtLeast(scope: string, key: string, until: { untilMs: number; nowMs: number }): void {
    this.#hasBlocks = true;
    this.#memory.blockAtLeast(scope, key, until);
  }

  unblock(scope: string, key: string): void {
    if (this.#hasBlocks) this.#memory.unblock(scope, key);
  }

  close(): void {
    this.#memory.close();
  }

  /** The verdicts that need no counting; undefined where the memory store has to be asked. */
  #answerUnasked(
    charges: readonly Charge[],
    options: PeekOptions,
    absence: Absence,
  ): readonly (Verdict | undefined)[] {
    const { failure, retryAfterMs } = absence;
    return charges.map((charge) => {
      const policy = this.#policyOf(charge, absence);
      if (policy === "local") return undefined;
      if (policy === "open") return this.#toOpen(charge, options);
      if (policy === "throw" && isEnforced(charge)) throw toUnavailable(failure);
      return toClosed(charge, retryAfterMs);
    });
  }

  /** Passes, unless this process knows that the key is blocked. */
  #toOpen(charge: Charge, options: PeekOptions): Verdict {
    const { capacity: limit } = charge.counter.limit;
    const open: Verdict = { ...OPEN, limit, remaining: limit };
    if (!this.#hasBlocks) return open;
    // Nothing is counted for it, so a cost of nothing is refused for a block only.
    const [asBlocked] = this.#peekLocal([{ ...this.#toLocal(charge), cost: 0 }], options);
    return asBlocked.allowed ? open : asBlocked;
  }

  #decideLocal(charges: readonly Charge[], options: DecideOptions): Outcome {
    if (charges.length === 0) return { allowed: true, verdicts: [], receipts: [] };
    this.#hasDecided = true;
    const outcome = this.#memory.decide(charges, options);
    return { ...outcome, verdicts: outcome.verdicts.map(asFallback) };
  }

  #peekLocal(charges: readonly Charge[], options: PeekOptions): readonly Verdict[] {
    return charges.length === 0 ? [] : this.#memory.peek(charges, options).map(asFallback);
  }

  /** While a flood keeps the store busy, `"open"` counts as `"local"`: the flood must not be admitted for that. */
  #policyOf({ counter }: Charge, absence?: Absence): FailurePolicy {
    const policy = counter.onStoreFailure ?? this.#options.onStoreFailure;
    return policy === "open" && absence?.failure instanceof StoreBusy ? "local" : policy;
  }

  #localsOf(charges: readonly Charge[], absence?: Absence): readonly Charge[] {
    const isLocal = (charge: Charge) => this.#policyOf(charge, absence) === "local";
    return charges.filter(isLocal).map((charge) => this.#toLocal(charge));
  }

  #toLocal(charge: Charge): Charge {
    return { ...charge, counter: this.#local(charge.counter) };
  }

  /** The counter of the same name under a share of the limit. */
  #local(counter: Counter): Counter {
    let local = this.#locals.get(counter);
    if (local === undefined) {
      const { scope, part } = counter;
      local = Object.freeze({
        scope,
        part,
        limit: toShare(counter.limit, this.#options.localShare),
      });
      this.#locals.set(counter, local);
      this.#originals.set(local, counter);
    }
    return local;
  }

  #mark(receipt: ChargeReceipt): ChargeReceipt {
    const counter = this.#originals.get(receipt.counter) ?? receipt.counter;
    return { ...receipt, counter, proof: new FallbackProof(receipt) };
  }
}

const OPEN = {
  allowed: true,
  retryAfterMs: 0,
  resetMs: 0,
  delayMs: 0,
  source: "fallback",
} as const;

function toClosed({ counter }: Charge, retryAfterMs: number): Verdict {
  const { capacity: limit } = counter.limit;
  const times = { retryAfterMs, resetMs: retryAfterMs, delayMs: 0 };
  return { allowed: false, limit, remaining: 0, ...times, source: "fallback" };
}

function asFallback(verdict: Verdict): Verdict {
  return { ...verdict, source: "fallback" };
}

function isEnforced(charge: Charge): boolean {
  return charge.shadow !== true;
}

function markPassed({ counter, key, cost }: Charge): ChargeReceipt {
  return { counter, key, cost, proof: new FallbackProof() };
}

/** Fills the gaps with the other verdicts, in their order. */
function weave(
  verdicts: readonly (Verdict | undefined)[],
  others: readonly Verdict[],
): readonly Verdict[] {
  let taken = 0;
  return verdicts.map((verdict) => verdict ?? others[taken++]);
}

function toShare(limit: Limit, share: number): Limit {
  try {
    return scaleLimit(limit, share);
  } catch {
    // A share of a rate may be too odd a number to be counted exactly. This many at a time, and no more
    // until a whole bucket would be back, is stricter and can always be counted.
    const units = Math.max(1, Math.floor(limit.capacity * share + 1e-9));
    const windowMs = Math.min(WINDOW_MS_MAX, Math.ceil(limit.recoveryMs));
    return fixedWindow({ limit: units, windowMs });
  }
}
