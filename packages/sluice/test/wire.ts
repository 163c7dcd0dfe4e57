// A store behind a wire that the test holds: every call waits until it is delivered, in any order,
// and its reply may come late or never. Like a server it has a time of its own. It lives outside
// src, so that it is not shipped, and inside the package, where relative imports may reach it.

import type { Clock } from "../src/base/clock.js";
import type { Verdict } from "../src/base/decision.js";
import type { MaybePromise } from "../src/base/maybe-promise.js";
import { ForwardingStore } from "../src/stores/forwarding-store.js";
import type {
  Charge,
  Counter,
  DecideOptions,
  Outcome,
  Settling,
  Store,
} from "../src/stores/store.js";

/** A call on its way. Each of its functions may be called once. */
export interface Call {
  readonly verb: "decide" | "decideOne" | "settle";
  /** Whether it asks for a lease: its reply may come later than its execution. */
  readonly isLease: boolean;
  /** Executes it now and returns the reply, to be sent now or later. */
  execute(): () => void;
  /** It fails: before it was executed, or after `execute`, with its reply. */
  fail(): void;
}

/** What has become of budget on the server. */
export interface Ledger {
  debited: number;
  returned: number;
}

/** One process's end of the wire. */
export class Wire extends ForwardingStore {
  readonly calls: Call[] = [];
  readonly #clock: Clock;
  readonly #ledger: Ledger;

  constructor(inner: Store, clock: Clock, ledger: Ledger = { debited: 0, returned: 0 }) {
    super(inner);
    this.#clock = clock;
    this.#ledger = ledger;
  }

  override decide(charges: readonly Charge[], options: DecideOptions = {}): Promise<Outcome> {
    const isLease = options.hold === true;
    return this.#send("decide", isLease, () => {
      const nowMs = this.#clock.now();
      const timed = charges.map((charge) => ({ ...charge, nowMs }));
      const outcome = this.inner.decide(timed, { ...options, blockNowMs: nowMs }) as Outcome;
      if (outcome.allowed) for (const { cost } of charges) this.#ledger.debited += cost;
      return outcome;
    });
  }

  override decideOne(counter: Counter, key: string, cost: number): Promise<Verdict> {
    return this.#send("decideOne", false, () => {
      const nowMs = this.#clock.now();
      const verdict = super.decideOne(counter, key, cost, nowMs) as Verdict;
      if (verdict.allowed) this.#ledger.debited += cost;
      return verdict;
    });
  }

  override settle(settlings: readonly Settling[]): Promise<void> {
    return this.#send("settle", false, () => {
      const nowMs = this.#clock.now();
      for (const { receipt, kept } of settlings) this.#ledger.returned += receipt.cost - kept;
      this.inner.settle(settlings.map((settling) => ({ ...settling, nowMs })));
    });
  }

  /** Delivers everything that is on its way, replies included. */
  deliverAll(): void {
    for (const call of this.calls.splice(0)) call.execute()();
  }

  #send<T>(verb: Call["verb"], isLease: boolean, run: () => MaybePromise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const execute = () => {
        const reply = run();
        return () => resolve(reply);
      };
      this.calls.push({ verb, isLease, execute, fail: () => reject(new Error("cut")) });
    });
  }
}

/** Lets everything go on that waits for no more than replies that have come. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
