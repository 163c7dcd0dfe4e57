// A memory store dressed as one behind a network, for tests: it answers with promises, may be made to fail,
// and knows which verbs it was asked.

import type { Verdict } from "../src/base/decision.js";
import { ForwardingStore } from "../src/stores/forwarding-store.js";
import { memoryStore } from "../src/stores/memory/memory-store.js";
import type {
  Charge,
  CounterStatus,
  DecideOptions,
  Outcome,
  PeekOptions,
  Settling,
} from "../src/stores/store.js";

/** A memory store behind promises. */
export class RemoteStore extends ForwardingStore {
  /** Verbs that fail from now on. */
  readonly failing = new Set<"decide" | "settle">();
  /** How often each verb was asked. */
  readonly calls = { decide: 0, settle: 0, close: 0 };

  constructor() {
    super(memoryStore());
  }

  override get isRemote(): boolean {
    return true;
  }

  override async decide(charges: readonly Charge[], options?: DecideOptions): Promise<Outcome> {
    this.calls.decide++;
    if (this.failing.has("decide")) throw new Error("the network is down");
    return this.inner.decide(charges, options);
  }

  override async decideOne(...args: Parameters<ForwardingStore["decideOne"]>): Promise<Verdict> {
    this.calls.decide++;
    if (this.failing.has("decide")) throw new Error("the network is down");
    return super.decideOne(...args);
  }

  override async peek(
    charges: readonly Charge[],
    options?: PeekOptions,
  ): Promise<readonly Verdict[]> {
    return this.inner.peek(charges, options);
  }

  override async debit(charges: readonly Charge[]): Promise<readonly CounterStatus[]> {
    return this.inner.debit(charges);
  }

  override async settle(settlings: readonly Settling[]): Promise<void> {
    this.calls.settle++;
    if (this.failing.has("settle")) throw new Error("the network is down");
    return this.inner.settle(settlings);
  }

  override async close(): Promise<void> {
    this.calls.close++;
  }
}
