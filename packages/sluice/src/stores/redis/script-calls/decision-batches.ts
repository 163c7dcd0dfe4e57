// Requests on their way to the server. All that are asked in one turn of the event loop share a call,
// up to a bound, and none waits longer for it: the call goes out when the turn ends. In a Cluster a
// call may only touch one slot, so there only requests of one identity share.

import { atEndOfTurn } from "../../../base/clock.js";
import { SluiceError, show } from "../../../base/errors.js";
import { isShaper } from "../../../limits/limits.js";
import type { Charge, DecideOptions, HoldMode, Outcome } from "../../store.js";
import type { KeyNames } from "../keys.js";
import { type Script, scripts } from "../lua/scripts.js";
import { briefReceipt, NOTE_MS } from "./brief-receipts.js";
import { type CallTime, CallWriter } from "./call-writer.js";
import { isList, isShifted, shiftMsOf } from "./limit-numbers.js";
import { type HeldAs, ReplyReader } from "./replies.js";
import { type Calls, LostReply, PeriodUnknown } from "./script-calls.js";

/** A request as it is asked. */
export interface DecisionRequest {
  readonly charges: readonly Charge[];
  /** The tag of each charge's key; in a Cluster they are equal. */
  readonly tags: readonly string[];
  readonly options: DecideOptions;
}

/** A request that waits for its answer. */
class Asked {
  readonly request: DecisionRequest;
  readonly isShort: boolean;
  /** One of these two is called, once. */
  readonly answer: (outcome: Outcome) => void;
  readonly fail: (error: unknown) => void;
  /** How often it was sent in vain. */
  failures = 0;

  constructor(
    request: DecisionRequest,
    answer: (outcome: Outcome) => void,
    fail: (error: unknown) => void,
  ) {
    this.request = request;
    this.isShort = isShort(request);
    this.answer = answer;
    this.fail = fail;
  }

  get isAbandoned(): boolean {
    return this.request.options.isAbandoned?.() === true;
  }
}

/** What all decisions of a store have in common. */
export interface DecisionsSetup {
  readonly calls: Pick<Calls, "run">;
  readonly names: KeyNames;
  readonly isCluster: boolean;
  readonly idempotencyMs: number;
  readonly time: () => CallTime;
  /** Called with the server's time for each answer. */
  readonly onTime: (nowMs: number) => void;
}

/** What decide.lua reads out of the first number of a request. */
const [HAS_RECEIPTS, HAS_ID, HAS_MORE, CHARGE] = [1, 2, 4, 8];
/** Enough to share a call's cost, few enough that the server works while we write the next. */
const REQUESTS_MAX = 64;
/** For requests of many charges: a call must not hold the server for long. */
const CHARGES_MAX = 256;
const FAILURES_MAX = 3;
/** The arguments of the script before prints and names. */
const FIXED_ARGS = 5;
/** Open receipts are kept at least this long: a caller that commits more than it reserved pays for it. */
const RECEIPT_MS_MIN = 600_000;

/** Gathers requests into calls, sends them and answers each. */
export class Decisions {
  readonly #setup: DecisionsSetup;
  readonly #namePrefix = crypto.randomUUID().slice(0, 13);
  #nameSequence = 0;
  #queue: Asked[] = [];
  #queuedCharges = 0;
  #isScheduled = false;

  constructor(setup: DecisionsSetup) {
    this.#setup = setup;
  }

  /** Decides a request whose charges can share a call. */
  ask(request: DecisionRequest): Promise<Outcome> {
    return new Promise((answer, fail) => {
      this.#push(new Asked(request, answer, fail));
    });
  }

  #push(asked: Asked): void {
    this.#queue.push(asked);
    this.#queuedCharges += asked.request.charges.length;
    if (this.#queue.length >= REQUESTS_MAX || this.#queuedCharges >= CHARGES_MAX) {
      this.#flush();
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      atEndOfTurn(() => {
        this.#isScheduled = false;
        this.#flush();
      });
    }
  }

  #flush(): void {
    const queue = this.#queue;
    if (queue.length === 0) return;
    this.#queue = [];
    this.#queuedCharges = 0;
    for (const batch of this.#setup.isCluster ? byTag(queue) : [queue]) {
      const short = batch.filter((asked) => asked.isShort);
      if (short.length > 0) this.#send(short, scripts.check);
      if (short.length === batch.length) continue;
      this.#send(
        batch.filter((asked) => !asked.isShort),
        scripts.decide,
      );
    }
  }

  /** Sends requests in one call and answers each; never throws. */
  #send(batch: readonly Asked[], script: Script): void {
    const { calls, onTime } = this.#setup;
    const isAbandoned = () => batch.every((asked) => asked.isAbandoned);
    const fail = (error: unknown) => {
      if (error instanceof PeriodUnknown) onTime(error.nowMs);
      for (const asked of batch) this.#recover(asked, error);
    };
    try {
      const { held, keys, args } = this.#write(batch);
      const read = (answer: unknown) => {
        const reply = new ReplyReader(answer);
        onTime(reply.nowMs);
        for (let i = 0; i < batch.length; i++) readAnswer(batch[i], reply, held[i]);
      };
      calls.run({ script, keys, args, isAbandoned }).then(read).catch(fail);
    } catch (error) {
      // A clock that was passed in may say what is not a time.
      fail(error);
    }
  }

  #write(batch: readonly Asked[]) {
    const { names, time, idempotencyMs } = this.#setup;
    const writer = new CallWriter(names);
    const held = batch.map((asked) => this.#writeRequest(writer, asked));
    return { held, keys: writer.keys, args: writer.args(time(), String(idempotencyMs)) };
  }

  /** Sends again what can't have been charged, or would be known by its id if it was. */
  #recover(asked: Asked, error: unknown): void {
    const { requestId } = asked.request.options;
    const isHarmless =
      error instanceof PeriodUnknown || (error instanceof LostReply && requestId !== undefined);
    if (isHarmless && ++asked.failures < FAILURES_MAX && !asked.isAbandoned) this.#push(asked);
    else asked.fail(error);
  }

  /** In the order in which the scripts read. Returns what is known of its receipts and id. */
  #writeRequest(writer: CallWriter, { request, isShort }: Asked): HeldAs | undefined {
    if (!isShort) return this.#writeWhole(writer, request);
    writer.plainRequest(request.charges, request.tags);
    return undefined;
  }

  #writeWhole(writer: CallWriter, { charges, tags, options }: DecisionRequest): HeldAs | undefined {
    const { numbers } = writer;
    const { requestId } = options;
    const hold = options.hold === "lease" ? true : (options.hold ?? false);
    const hasMore = hold === true || !charges.every(isShortCharge);
    const keepMs = hold === true ? keepMsOf(charges) : NOTE_MS;
    const record =
      requestId === undefined
        ? ""
        : this.#setup.names.request(tags[0], charges[0].counter, requestId);
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
      numbers.push(writer.name(record), writer.text(printOf(charges, tags, hold), FIXED_ARGS));
    }
    for (const [i, charge] of charges.entries()) {
      const { counter, key } = charge;
      numbers.push(
        writer.counter(counter, key, tags[i]),
        writer.value(counter, key, tags[i]),
        writer.limit(counter.limit),
        charge.cost,
      );
      if (!hasMore) continue;
      numbers.push(
        charge.shadow === true ? 1 : 0,
        shiftMsOf(counter.limit, key),
        hold === true && charge.isFinal !== true ? writer.open(counter, key, tags[i]) : 0,
      );
    }
    const isHeld = hold !== false || record !== "";
    return isHeld ? { isWanted: hold !== false, keepMs, record } : undefined;
  }

  #newName(): string {
    return `${this.#namePrefix}-${(this.#nameSequence++).toString(36)}`;
  }
}

/** Decisions for the home region: a batch has one epoch, and only the latest is in use. */
export class FencedDecisions {
  readonly #make: (epoch: number) => Decisions;
  #latest: { readonly epoch: number; readonly decisions: Decisions } | undefined;

  constructor(make: (epoch: number) => Decisions) {
    this.#make = make;
  }

  under(epoch: number): Decisions {
    if (this.#latest?.epoch !== epoch) this.#latest = { epoch, decisions: this.#make(epoch) };
    return this.#latest.decisions;
  }
}

function readAnswer(asked: Asked, reply: ReplyReader, held: HeldAs | undefined): void {
  const { charges, options } = asked.request;
  if (held !== undefined) {
    const outcome = reply.heldOutcome(charges, held);
    if (outcome !== undefined) asked.answer(outcome);
    else asked.fail(new SluiceError("SLUICE_REQUEST_ID_REUSED", `got ${show(options.requestId)}`));
    return;
  }
  const { allowed, verdicts } = asked.isShort
    ? reply.checkOutcome(charges)
    : reply.outcome(charges);
  const receipts =
    allowed && options.hold === "briefly"
      ? charges.map((charge, i) => briefReceipt(charge, verdicts[i], reply.nowMs))
      : [];
  asked.answer({ allowed, verdicts, receipts });
}

/** Whether the fast path can decide it: counters are single values, and nothing has to be remembered. */
function isShort({ charges, options: { requestId, hold } }: DecisionRequest): boolean {
  const isKept = hold === true || hold === "lease";
  return requestId === undefined && !isKept && charges.every(isShortCharge);
}

/** Whether there is nothing more to send than its numbers. */
function isShortCharge({ counter: { limit }, shadow }: Charge): boolean {
  return shadow !== true && !isList(limit) && !isShifted(limit);
}

function byTag(queue: readonly Asked[]): Iterable<Asked[]> {
  const batches = new Map<string, Asked[]>();
  for (const asked of queue) {
    const [tag] = asked.request.tags;
    const batch = batches.get(tag);
    if (batch === undefined) batches.set(tag, [asked]);
    else batch.push(asked);
  }
  return batches.values();
}

/** What has to be the same when a request comes again. Keys are identified by their tags: no secrets. */
function printOf(charges: readonly Charge[], tags: readonly string[], hold: HoldMode): string {
  // The kind of a limit too: it says how an answer that is kept reads.
  const parts = charges.map(({ counter: { scope, part, limit }, cost }, i) => {
    return [scope, part, limit.algorithm, isShaper(limit), tags[i], cost];
  });
  // Whether it is held briefly is the store's affair, not its caller's.
  return JSON.stringify([hold === true, ...parts]);
}

function keepMsOf(charges: readonly Charge[]): number {
  return Math.max(RECEIPT_MS_MIN, ...charges.map(({ counter }) => counter.limit.recoveryMs));
}
