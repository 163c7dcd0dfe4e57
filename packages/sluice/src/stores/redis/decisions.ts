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
import { type Script, scripts } from "./lua/scripts.js";
import { type HeldAs, ReplyReader } from "./replies.js";

/** A request that waits for its answer. */
interface Asked {
  /** Of one identity, where the store is a Cluster. */
  readonly charges: readonly Charge[];
  readonly options: DecideOptions;
  /** The beginning of its first key's names. */
  readonly tag: string;
  /** Whether it takes the short way. */
  readonly isPlain: boolean;
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

/** What decide.lua reads out of the first number of a request. */
const [HAS_RECEIPTS, HAS_ID, HAS_MORE, CHARGE] = [1, 2, 4, 8];
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
      const how = { charges, tag, options, isPlain: isPlain(charges, options) };
      this.#push({ ...how, answer, answerOne: undefined, fail, tries: 0 });
    });
  }

  /** Decides one charge that is final. */
  askOne(charge: Charge, tag: string): Promise<Verdict> {
    return new Promise((answerOne, fail) => {
      this.#push({
        charges: [charge],
        tag,
        options: NO_OPTIONS,
        isPlain: isPlainCharge(charge),
        answer: never,
        answerOne,
        fail,
        tries: 0,
      });
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
    for (const batch of this.#setup.isCluster ? byTag(queue) : [queue]) {
      const plain = batch.filter((asked) => asked.isPlain);
      if (plain.length > 0) void this.#send(plain, scripts.check);
      if (plain.length === batch.length) continue;
      void this.#send(
        batch.filter((asked) => !asked.isPlain),
        scripts.decide,
      );
    }
  }

  /** Sends requests in one call and answers each; never rejects. */
  async #send(batch: readonly Asked[], script: Script): Promise<void> {
    const { calls, onTime } = this.#setup;
    try {
      const writer = new CallWriter();
      const held = batch.map((asked) => this.#writeRequest(writer, asked));
      const args = writer.args(this.#setup.time(), String(this.#setup.idempotencyMs));
      const isAbandoned = () => batch.every(({ options }) => options.isAbandoned?.() === true);
      const call = { script, keys: writer.keys, args, isAbandoned };
      const reply = new ReplyReader(await calls.run(call));
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

  /** In the order in which check.lua and decide.lua read. Returns how its receipts are held. */
  #writeRequest(writer: CallWriter, asked: Asked): HeldAs | undefined {
    const { charges, options, tag } = asked;
    const { numbers } = writer;
    if (asked.isPlain) {
      for (const charge of charges) this.#writeCharge(writer, charge, tag);
      // Below 0 it is the last one of its request.
      numbers[numbers.length - 2] *= -1;
      return undefined;
    }
    const { requestId, hold = false } = options;
    const keepMs = hold === true ? keepMsOf(charges) : 0;
    const hasMore = hold === true || !charges.every(isPlainCharge);
    const record =
      requestId === undefined
        ? ""
        : this.#setup.names.request(tag, charges[0].counter.scope, requestId);
    numbers.push(
      charges.length * CHARGE +
        (hold === false ? 0 : HAS_RECEIPTS) +
        (record === "" ? 0 : HAS_ID) +
        (hasMore ? HAS_MORE : 0),
    );
    if (hold !== false) {
      numbers.push(hold === true ? writer.text(this.#newName(), FIXED_ARGS) : 0, keepMs);
    }
    if (record !== "") {
      numbers.push(writer.key(record), writer.text(printOf(charges, hold), FIXED_ARGS));
    }
    for (const charge of charges) {
      const name = this.#writeCharge(writer, charge, this.#setup.names.tag(charge.key));
      if (!hasMore) continue;
      numbers.push(
        charge.shadow === true ? 1 : 0,
        shiftMsOf(charge.counter.limit, charge.key),
        hold === true ? writer.key(this.#setup.names.open(name)) : 0,
      );
    }
    const isTold = hold !== false || record !== "";
    return isTold ? { isWanted: hold !== false, keepMs, record } : undefined;
  }

  #writeCharge(writer: CallWriter, { counter, cost }: Charge, tag: string): string {
    const { names } = this.#setup;
    const name = names.counter(tag, counter);
    const block = writer.key(names.block(tag, counter.scope));
    writer.numbers.push(writer.key(name), block, writer.limit(counter.limit), cost);
    return name;
  }

  #newName(): string {
    return `${this.#namePrefix}-${(this.#nameSequence++).toString(36)}`;
  }
}

/** Whether the short way serves: all charges are final, and their counters single values. */
function isPlain(charges: readonly Charge[], { requestId, hold = false }: DecideOptions): boolean {
  return requestId === undefined && hold === false && charges.every(isPlainCharge);
}

/** Whether there is nothing more to tell of it than its numbers. */
function isPlainCharge({ counter: { limit }, shadow }: Charge): boolean {
  if (limit.algorithm === "slidingWindowLog" || limit.algorithm === "concurrency") return false;
  return shadow !== true && !(limit.algorithm === "fixedWindow" && limit.align === "key");
}

const NO_OPTIONS: DecideOptions = {};
const never = (): void => {};

function answer(asked: Asked, reply: ReplyReader, held: HeldAs | undefined): void {
  const { charges, options, answerOne } = asked;
  if (answerOne !== undefined) {
    answerOne(reply.verdict(charges[0].counter.limit));
    return;
  }
  const outcome = held === undefined ? reply.outcome(charges) : reply.heldOutcome(charges, held);
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
