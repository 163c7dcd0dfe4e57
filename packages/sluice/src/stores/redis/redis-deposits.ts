// Deposits in Redis: a value for each place, changed by one script for each operation. Asks of one turn of the event loop
// share a call, as decisions do.

import { atEndOfTurn } from "../../base/clock.js";
import { SluiceError, show } from "../../base/errors.js";
import type {
  Deposit,
  DepositAnswer,
  DepositAsk,
  DepositPart,
  DepositPlace,
  DepositStore,
  Withdrawal,
} from "../deposit-store.js";
import type { KeyNames } from "./keys.js";
import { type Script, scripts } from "./lua/scripts.js";
import type { CallTime } from "./script-calls/call-writer.js";
import type { Calls } from "./script-calls/script-calls.js";

/** The most asks of one call. */
const ASKS_MAX = 64;
/** How take.lua answers: the numbers in front of the parts. */
const ANSWER_FIELDS = 7;
/** What take.lua and withdraw.lua say where there is no end, and where a deposit stays. */
const [FOR_EVER, STAYS] = [-1, -1];

/** What deposits have in common with the counters of a store. */
export interface DepositsSetup {
  readonly calls: Calls;
  readonly names: KeyNames;
  readonly isCluster: boolean;
  readonly time: () => CallTime;
}

interface Asked {
  readonly ask: DepositAsk;
  readonly tag: string;
  readonly answer: (answer: DepositAnswer) => void;
  readonly fail: (error: unknown) => void;
}

/** Deposits on a server. */
export class RedisDeposits implements DepositStore {
  readonly #setup: DepositsSetup;
  #queue: Asked[] = [];

  constructor(setup: DepositsSetup) {
    this.#setup = setup;
  }

  take(ask: DepositAsk): Promise<DepositAnswer> {
    return new Promise((answer, fail) => {
      const tag = this.#setup.names.tag(ask.place.key);
      if (this.#queue.push({ ask, tag, answer, fail }) === 1) atEndOfTurn(() => this.#flush());
      else if (this.#queue.length >= ASKS_MAX) this.#flush();
    });
  }

  async deposit({
    place,
    id,
    units,
    expiresAtMs,
    lifeMsMax,
    resetAtMs,
  }: Deposit): Promise<boolean> {
    const numbers = JSON.stringify([units, expiresAtMs, lifeMsMax, resetAtMs]);
    const reply = await this.#change(scripts.deposit, place, [id, numbers]);
    return toNumbers(reply)[1] === 1;
  }

  async restore(place: DepositPlace, parts: readonly DepositPart[]): Promise<void> {
    const list = parts.flatMap(({ id, units }) => [id, units]);
    await this.#change(scripts.restore, place, [JSON.stringify(list)]);
  }

  async withdraw({ place, id, idleMsMin }: Withdrawal): Promise<number | undefined> {
    const args = [id ?? "", String(idleMsMin)];
    const reply = await this.#change(scripts.withdraw, place, args);
    const left = toNumbers(reply)[1];
    return left === STAYS ? undefined : left;
  }

  #change(script: Script, place: DepositPlace, args: readonly string[]): Promise<unknown> {
    const { calls, names } = this.#setup;
    const keys = [names.deposits(names.tag(place.key), place)];
    return calls.run({ script, keys, args: [...this.#timeArgs(), ...args] });
  }

  #flush(): void {
    const queue = this.#queue;
    this.#queue = [];
    if (queue.length === 0) return;
    for (const batch of this.#setup.isCluster ? byTag(queue) : [queue]) void this.#send(batch);
  }

  /** Sends asks in one call and answers each; never rejects. */
  async #send(batch: readonly Asked[]): Promise<void> {
    const { calls, names } = this.#setup;
    try {
      const keys = new Map<string, number>();
      const placeOf = (name: string) => {
        const known = keys.get(name);
        if (known !== undefined) return known;
        keys.set(name, keys.size + 1);
        return keys.size;
      };
      const numbers = batch.flatMap(({ ask: { place, units, lifeMsMin, isNew }, tag }) => [
        placeOf(names.deposits(tag, place)),
        placeOf(names.value(tag, place.scope)),
        units,
        lifeMsMin,
        isNew ? 1 : 0,
      ]);
      const args = [...this.#timeArgs(), JSON.stringify(numbers)];
      const reply = await calls.run({ script: scripts.take, keys: [...keys.keys()], args });
      const [nowMs, ...answers] = reply as [number, ...(readonly (number | string)[])[]];
      if (answers.length !== batch.length) throw unreadable(reply);
      for (const [i, { answer }] of batch.entries()) answer(toAnswer(nowMs, answers[i]));
    } catch (error) {
      for (const { fail } of batch) fail(error);
    }
  }

  #timeArgs(): string[] {
    const { nowMs, slackMs } = this.#setup.time();
    return [nowMs === undefined ? "" : String(nowMs), String(slackMs)];
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

function toAnswer(nowMs: number, reply: readonly (number | string)[]): DepositAnswer {
  const [left, resetMs, blockedMs, isDue, asks, units, inMs] = toNumbers(
    reply.slice(0, ANSWER_FIELDS),
  );
  const parts: DepositPart[] = [];
  for (let i = ANSWER_FIELDS; i < reply.length; i += 2) {
    parts.push({ id: String(reply[i]), units: Number(reply[i + 1]) });
  }
  return {
    nowMs,
    isCovered: parts.length > 0,
    parts,
    left,
    resetMs,
    blockedMs: blockedMs === FOR_EVER ? Number.POSITIVE_INFINITY : blockedMs,
    isDue: isDue === 1,
    demand: { asks, units, inMs },
  };
}

function toNumbers(reply: unknown): readonly number[] {
  if (Array.isArray(reply) && reply.every((each) => typeof each === "number")) return reply;
  throw unreadable(reply);
}

function unreadable(reply: unknown): SluiceError {
  return new SluiceError("SLUICE_STORE_UNAVAILABLE", `its reply can't be read: ${show(reply)}`);
}
