// A shared store as a process sees it: every call goes over the network and is answered later, or never. What stands in
// front of it (guard, leases, deny cache) is the library's own.

import type {
  Charge,
  DecideOptions,
  DepositStore,
  FenceStore,
  MemoryStore,
  Outcome,
  RecordStore,
  Settling,
  Store,
  Verdict,
} from "sluice";
import type { Link } from "./link.js";
import type { Call, StoreServer } from "./store-server.js";

/** Bytes of a call without its charges, of one charge, and of an answer to it, as in Redis's protocol. */
const CALL_BYTES = 120;
const CHARGE_BYTES = 60;
const VERDICT_BYTES = 40;

/** A record is as long as so many charges. */
const RECORD_CHARGES = 5;

/** Answers of all stores so far; only their order counts. */
let answers = 0;

/** A store behind a network. */
export class RemoteStore implements Store {
  readonly isRemote = true;
  readonly deposits: DepositStore;
  readonly fence: FenceStore;
  readonly records: RecordStore;
  readonly #link: Link;
  readonly #server: StoreServer;
  /** The true time at which the store did what was answered last, and its place among all answers. */
  decidedAtMs = 0;
  lastAnswer = 0;
  #isConnected = true;

  constructor(link: Link, server: StoreServer) {
    this.#link = link;
    this.#server = server;
    const on = <T>(key: string, act: (deposits: DepositStore, nowMs: number) => T) =>
      this.#call({ key, charges: 1 }, ({ deposits }, nowMs) => act(deposits, nowMs)) as Promise<
        Awaited<T>
      >;
    this.deposits = {
      take: (ask) =>
        on(ask.place.key, (all, nowMs) => all.take({ ...ask, nowMs, blockNowMs: nowMs })),
      deposit: (one) => on(one.place.key, (all, nowMs) => all.deposit({ ...one, nowMs })),
      restore: (place, parts) => on(place.key, (all, nowMs) => all.restore(place, parts, nowMs)),
      withdraw: (one) => on(one.place.key, (all, nowMs) => all.withdraw({ ...one, nowMs })),
    };
    const onFence = <T>(act: (fence: FenceStore, nowMs: number) => T) =>
      this.#call({ key: "", charges: 1 }, (store, nowMs) => act(store.fence, nowMs)) as Promise<
        Awaited<T>
      >;
    this.fence = {
      read: () => onFence((fence, nowMs) => fence.read(nowMs)),
      swap: (swap) => onFence((fence, nowMs) => fence.swap({ ...swap, nowMs })),
      // Runs don't report how many calls were refused.
      refusals: 0,
    };
    const onRecord = <T>(name: string, act: (records: RecordStore, nowMs: number) => T) =>
      this.#call({ key: name, charges: RECORD_CHARGES }, ({ records }, nowMs) =>
        act(records, nowMs),
      ) as Promise<Awaited<T>>;
    this.records = {
      read: (name) => onRecord(name, (all, nowMs) => all.read(name, nowMs)),
      change: (change) => onRecord(change.name, (all, nowMs) => all.change({ ...change, nowMs })),
    };
  }

  decide(charges: readonly Charge[], options?: DecideOptions) {
    return this.#call(toCall(charges), (store, nowMs) =>
      asShared(store.decide(at(charges, nowMs), { ...options, blockNowMs: nowMs })),
    );
  }

  peek(charges: readonly Charge[]) {
    return this.#call(toCall(charges), (store, nowMs) =>
      store.peek(at(charges, nowMs), { blockNowMs: nowMs }).map(fromStore),
    );
  }

  debit(charges: readonly Charge[]) {
    return this.#call(toCall(charges), (store, nowMs) => store.debit(at(charges, nowMs)));
  }

  settle(settlings: readonly Settling[]) {
    return this.#call(
      { key: settlings[0].receipt.key, charges: settlings.length },
      (store, nowMs) => store.settle(settlings.map((settling) => ({ ...settling, nowMs }))),
    );
  }

  refund(charges: readonly Charge[]) {
    return this.#call(toCall(charges), (store, nowMs) => store.refund(at(charges, nowMs)));
  }

  reset(charges: readonly Charge[]) {
    return this.#call(toCall(charges), (store, nowMs) => store.reset(at(charges, nowMs)));
  }

  block(scope: string, key: string, until: { untilMs: number; nowMs: number }) {
    return this.#call({ key, charges: 1 }, (store, nowMs) =>
      store.block(scope, key, { untilMs: nowMs + until.untilMs - until.nowMs, nowMs }),
    );
  }

  unblock(scope: string, key: string) {
    return this.#call({ key, charges: 1 }, (store) => store.unblock(scope, key));
  }

  close(): void {}

  /** The process is gone: answers under way reach no one. */
  disconnect(): void {
    this.#isConnected = false;
  }

  #call<T>(call: Call, act: (store: MemoryStore, nowMs: number) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const { charges } = call;
      this.#link.sendThere(CALL_BYTES + charges * CHARGE_BYTES, () =>
        this.#server.answer(call, (store, { atMs, clockMs }) => {
          const conclude = toAnswer(() => act(store, clockMs), resolve, reject);
          this.#link.sendBack(charges * VERDICT_BYTES, atMs, () => {
            if (!this.#isConnected) return;
            this.decidedAtMs = atMs;
            this.lastAnswer = ++answers;
            conclude();
          });
        }),
      );
    });
  }
}

function toCall(charges: readonly Charge[]): Call {
  return { key: charges[0].key, charges: charges.length };
}

/** Does something now, and returns a function that says later how it went. */
function toAnswer<T>(
  act: () => T,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): () => void {
  try {
    const value = act();
    return () => resolve(value);
  } catch (error) {
    return () => reject(error);
  }
}

function at(charges: readonly Charge[], nowMs: number): readonly Charge[] {
  return charges.map((charge) => ({ ...charge, nowMs }));
}

/** The outcome as a shared store answers it. */
function asShared(outcome: Outcome): Outcome {
  return { ...outcome, verdicts: outcome.verdicts.map(fromStore) };
}

function fromStore(verdict: Verdict): Verdict {
  return { ...verdict, source: "store" };
}
