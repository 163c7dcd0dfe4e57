// Requests on their way to the server. All that are asked in one turn of the event loop share a call,
// up to a bound, and none waits longer for it: the call goes out when the turn ends. In a Cluster a
// call may only touch one slot, so there only requests of one identity share.

import { atEndOfTurn } from "../../clock.js";
import type { Verdict } from "../../decision.js";
import { SluiceError, show } from "../../errors.js";
import type { Charge, DecideOptions, Outcome } from "../store.js";
import { type CallTime, CallWriter } from "./call-writer.js";
import { type Calls, LostReply, PeriodUnknown } from "./calls.js";
import type { KeyNames } from "./keys.js";
import { shiftMsOf } from "./limit-numbers.js";
import { scripts } from "./lua/scripts.js";
import { type HeldAs, ReplyReader } from "./replies.js";

/** A request that waits for its answer. */
interface Asked {
  /** Of one identity, where the store is a Cluster. */
  readonly charges: readonly Charge[];
  readonly options: DecideOptions;
  /** The beginning of its first key's names. */
  readonly tag: string;
  /** Exactly one of these is called, once. */
  readonly answer: (outcome: Outcome) => void;
  readonly answerOne: ((verdict: Verdict) => void) | undefined;
  readonly fail: (error: unknown) => void;
  /** How often it was sent. */
  tries: number;
}

/** What all decisions of a store have in common. */
export interface DecisionsSetup {
  readonly calls: Calls;
  readonly names: KeyNames;
  readonly isCluster: boolean;
  readonly idempotencyMs: number;
  readonly time: () => CallTime;
  /** Told the server's time with each answer. */
  readonly onTime: (nowMs: number) => void;
}

const CHARGES_MAX = 128;
const TRIES_MAX = 3;
/** The arguments of the script before prints and names. */
const FIXED_ARGS = 5;
/** Open receipts are known at least this long: who commits more than was reserved pays for it. */
const RECEIPT_MS_MIN = 600_000;

export class Decisions {
  readonly #setup: DecisionsSetup;
  #queue: Asked[] = [];
  #queuedCharges = 0;
  #nameSequence = 0;
  readonly #namePrefix = crypto.randomUUID().slice(0, 13);

  constructor(setup: DecisionsSetup) {
    this.#setup = setup;
  }

  /** Decides a request whose charges may share a call. */
  ask(charges: readonly Charge[], tag: string, options: DecideOptions): Promise<Outcome> {
    return new Promise((answer, fail) => {
      this.#push({ charges, tag, options, answer, answerOne: undefined, fail, tries: 0 });
    });
  }

  /** Decides one charge that is final. */
  askOne(charge: Charge, tag: string): Promise<Verdict> {
    return new Promise((answerOne, fail) => {
      const charges = [charge];
      this.#push({ charges, tag, options: NO_OPTIONS, answer: never, answerOne, fail, tries: 0 });
    });
  }

  #push(asked: Asked): void {
    if (this.#queue.length === 0) atEndOfTurn(() => this.#flush());
    this.#queue.push(asked);
    this.#queuedCharges += asked.charges.length;
    if (this.#queuedCharges >= CHARGES_MAX) this.#flush();
  }

  #flush(): void {
    const queue = this.#queue;
    if (queue.length === 0) return;
    this.#queue = [];
    this.#queuedCharges = 0;
    for (const batch of this.#setup.isCluster ? byTag(queue) : [queue]) void this.#send(batch);
  }

  /** Sends requests in one call and answers each; never rejects. */
  async #send(batch: readonly Asked[]): Promise<void> {
    const { calls, onTime } = this.#setup;
    try {
      const { call, held } = this.#write(batch);
      const isAbandoned = () => batch.every(({ options }) => options.isAbandoned?.() === true);
      const reply = new ReplyReader(await calls.run({ ...call, isAbandoned }));
      onTime(reply.nowMs);
      for (const [i, asked] of batch.entries()) answer(asked, reply, held[i]);
    } catch (error) {
      if (error instanceof PeriodUnknown) onTime(error.nowMs);
      for (const asked of batch) this.#recover(asked, error);
    }
  }

  /** Sends again what can't have been charged, or would be known by its id if it was. */
  #recover(asked: Asked, error: unknown): void {
    const isHarmless =
      error instanceof PeriodUnknown ||
      (error instanceof LostReply && asked.options.requestId !== undefined);
    if (isHarmless && ++asked.tries < TRIES_MAX && asked.options.isAbandoned?.() !== true) {
      this.#push(asked);
    } else {
      asked.fail(error);
    }
  }

  #write(batch: readonly Asked[]) {
    const { time, idempotencyMs } = this.#setup;
    const writer = new CallWriter();
    const held = batch.map((asked) => this.#writeRequest(writer, asked));
    const args = writer.args(time(), String(idempotencyMs));
    return { call: { script: scripts.decide, keys: writer.keys, args }, held };
  }

  /** In the order in which decide.lua reads. Returns how its receipts are held. */
  #writeRequest(writer: CallWriter, { charges, options, tag }: Asked): HeldAs | undefined {
    const { names } = this.#setup;
    const { requestId, hold = false } = options;
    const { numbers } = writer;
    const isNamed = hold === true;
    const keepMs = isNamed ? keepMsOf(charges) : 0;
    const record =
      requestId === undefined ? "" : names.request(tag, charges[0].counter.scope, requestId);
    numbers.push(
      charges.length,
      isNamed ? 1 : 0,
      record === "" ? 0 : writer.key(record),
      record === "" ? 0 : writer.text(printOf(charges, hold), FIXED_ARGS),
      isNamed ? writer.text(this.#newName(), FIXED_ARGS) : 0,
      keepMs,
    );
    for (const { counter, key, cost, shadow } of charges) {
      const keyTag = charges.length === 1 ? tag : names.tag(key);
      const name = names.counter(keyTag, counter);
      numbers.push(
        writer.key(name),
        writer.key(names.block(keyTag, counter.scope)),
        isNamed ? writer.key(names.open(name)) : 0,
        writer.limit(counter.limit),
        cost,
        shadow === true ? 1 : 0,
        shiftMsOf(counter.limit, key),
      );
    }
    return hold === false ? undefined : { keepMs, record };
  }

  #newName(): string {
    return `${this.#namePrefix}-${(this.#nameSequence++).toString(36)}`;
  }
}

const NO_OPTIONS: DecideOptions = {};
const never = (): void => {};

function answer(asked: Asked, reply: ReplyReader, held: HeldAs | undefined): void {
  const { charges, options, answerOne } = asked;
  if (answerOne !== undefined) {
    answerOne(reply.only(charges[0].counter.limit));
    return;
  }
  const outcome = reply.outcome(charges, held);
  if (outcome !== undefined) asked.answer(outcome);
  else {
    asked.fail(new SluiceError("SLUICE_REQUEST_ID_REUSED", `got ${show(options.requestId)}`));
  }
}

function byTag(queue: readonly Asked[]): Iterable<Asked[]> {
  const batches = new Map<string, Asked[]>();
  for (const asked of queue) {
    const batch = batches.get(asked.tag);
    if (batch === undefined) batches.set(asked.tag, [asked]);
    else batch.push(asked);
  }
  return batches.values();
}

/** What has to be the same when a request comes again. Its key is in the name of its record. */
function printOf(charges: readonly Charge[], hold: boolean | "briefly"): string {
  const parts = charges.map(({ counter, key, cost }) => [counter.scope, counter.part, key, cost]);
  return JSON.stringify([hold, ...parts]);
}

function keepMsOf(charges: readonly Charge[]): number {
  return Math.max(RECEIPT_MS_MIN, ...charges.map(({ counter }) => counter.limit.recoveryMs));
}
