// The Redis store: counters that many processes share, decided by scripts on the server. It writes
// what is asked as calls, and reads the answers; all arithmetic is in the Lua twins of the
// algorithms. Time is the server's, so that nodes whose clocks differ decide the same.

import { systemClock, toWholeMs } from "../../base/clock.js";
import type { Verdict } from "../../base/decision.js";
import { SluiceError } from "../../base/errors.js";
import { mergeEqual, spreadVerdicts } from "../charges.js";
import type { DepositStore } from "../deposit-store.js";
import type { RecordStore } from "../record-store.js";
import type { Escalated, RefusalReport } from "../refusal-reports.js";
import type {
  Charge,
  Counter,
  CounterStatus,
  DecideOptions,
  Outcome,
  Settling,
  Store,
} from "../store.js";
import { type RedisClient, toPort } from "./client/client.js";
import type { RedisPort } from "./client/redis-port.js";
import { decideAcross } from "./compensation.js";
import { KeyNames } from "./keys.js";
import { type Script, scripts } from "./lua/scripts.js";
import { RedisDeposits } from "./redis-deposits.js";
import { readEscalated, writeReports } from "./redis-escalation.js";
import { RedisFence } from "./redis-fence.js";
import { type RedisStoreOptions, type RedisStoreSetup, toSetup } from "./redis-options.js";
import { RedisRecords } from "./redis-records.js";
import { noteIdOf, toProof } from "./script-calls/brief-receipts.js";
import { type CallTime, CallWriter } from "./script-calls/call-writer.js";
import { Decisions, FencedDecisions } from "./script-calls/decision-batches.js";
import { shiftMsOf } from "./script-calls/limit-numbers.js";
import { ReplyReader } from "./script-calls/replies.js";
import { Calls, PeriodUnknown } from "./script-calls/script-calls.js";

const PERIOD_TRIES_MAX = 3;
const SETTLE_FIXED_ARGS = 4;
/** The most items of one call: a script holds the server, and Lua can't unpack any number of keys. */
const ITEMS_MAX = 128;
/** How grant.lua and block.lua read what is not a number of units or milliseconds. */
const [FORGET_ALL, FOR_EVER, END_BLOCK] = [-1, 0, -1];

/** Something about one key. */
type Keyed = Pick<Charge, "key">;

/** A store in Redis or Valkey. Made by {@link redisStore}. */
export class RedisStore implements Store {
  readonly isRemote = true;
  readonly deposits: DepositStore;
  /** Undefined in a Cluster, where no script can see a record and every counter. */
  readonly fence: RedisFence | undefined;
  readonly records: RecordStore;
  readonly #port: RedisPort;
  readonly #setup: RedisStoreSetup;
  readonly #calls: Calls;
  readonly #names: KeyNames;
  readonly #decisions: Decisions;
  readonly #fence: RedisFence;
  readonly #fenced: FencedDecisions;
  /** How far the server's clock is ahead of ours, as last seen. */
  #aheadMs = 0;
  #isClosed = false;

  constructor(client: RedisClient, options: RedisStoreOptions = {}) {
    this.#setup = toSetup(options);
    this.#port = toPort(client);
    this.#calls = new Calls(this.#port, this.#setup.onWarning);
    this.#names = new KeyNames(this.#setup.naming);
    const common = { calls: this.#calls, names: this.#names, time: () => this.#time() };
    this.deposits = new RedisDeposits({ ...common, isCluster: this.#port.isCluster });
    this.records = new RedisRecords(common);
    this.#decisions = this.#toDecisions(this.#calls);
    this.#fenced = new FencedDecisions((epoch) => this.#toDecisions(this.#fence.callsUnder(epoch)));
    const [{ isCluster }, { home: name }] = [this.#port, this.#names];
    this.#fence = new RedisFence({ calls: this.#calls, name, isCluster, time: () => this.#time() });
    this.fence = isCluster ? undefined : this.#fence;
  }

  #toDecisions(calls: Pick<Calls, "run">): Decisions {
    return new Decisions({
      calls,
      names: this.#names,
      isCluster: this.#port.isCluster,
      idempotencyMs: this.#setup.idempotencyMs,
      time: () => this.#time(),
      onTime: (nowMs) => this.#learnTime(nowMs),
    });
  }

  #decisionsFor([first]: readonly Charge[]): Decisions {
    const epoch = first?.counter.epoch;
    return epoch === undefined ? this.#decisions : this.#fenced.under(epoch);
  }

  decide(charges: readonly Charge[], options: DecideOptions = {}): Promise<Outcome> {
    this.#mustBeOpen();
    const merged = mergeEqual(charges);
    const tags = this.#tagsOf(merged);
    const outcome =
      this.#port.isCluster && tags.some((tag) => tag !== tags[0])
        ? this.#decideAcross(merged, options)
        : this.#decisionsFor(merged).ask({ charges: merged, tags, options });
    if (merged === charges) return outcome;
    return outcome.then((whole) => ({
      ...whole,
      verdicts: spreadVerdicts(whole.verdicts, charges, merged),
    }));
  }

  #tagsOf(charges: readonly Charge[]): readonly string[] {
    const tags = new Array<string>(charges.length);
    for (let i = 0; i < charges.length; i++) {
      const { key } = charges[i];
      const isSame = i > 0 && key === charges[i - 1].key;
      tags[i] = isSame ? tags[i - 1] : this.#names.tag(key);
    }
    return tags;
  }

  #decideAcross(charges: readonly Charge[], options: DecideOptions): Promise<Outcome> {
    return decideAcross(charges, this.#byTag(charges), options, {
      ask: (members, how) => {
        const tag = this.#names.tag(members[0].key);
        return this.#decisions.ask({
          charges: members,
          tags: members.map(() => tag),
          options: how,
        });
      },
      settle: (settlings) => this.settle(settlings),
    });
  }

  async peek(charges: readonly Charge[]): Promise<readonly Verdict[]> {
    return this.#eachGroup(charges, (group) =>
      this.#read(scripts.peek, group, (reply, limit) => reply.verdict(limit)),
    );
  }

  async debit(charges: readonly Charge[]): Promise<readonly CounterStatus[]> {
    return this.#eachGroup(charges, (group) =>
      this.#read(scripts.debit, group, (reply, limit) => reply.status(limit)),
    );
  }

  async settle(settlings: readonly Settling[]): Promise<void> {
    await this.#eachGroup(settlings, async (group) => {
      await this.#call(scripts.settle, group[0].receipt.counter.epoch, (writer) => {
        for (const settling of group) this.#writeSettling(writer, settling);
      });
      return [];
    });
  }

  refund(charges: readonly Charge[]): Promise<void> {
    return this.#grant(charges, (charge) => charge.cost);
  }

  reset(charges: readonly Charge[]): Promise<void> {
    return this.#grant(charges, () => FORGET_ALL);
  }

  block(
    scope: string,
    key: string,
    { untilMs, nowMs }: { untilMs: number; nowMs: number },
  ): Promise<void> {
    const forMs = Number.isFinite(untilMs) ? Math.max(1, untilMs - nowMs) : FOR_EVER;
    return this.#block(scope, key, forMs);
  }

  unblock(scope: string, key: string): Promise<void> {
    return this.#block(scope, key, END_BLOCK);
  }

  async #block(scope: string, key: string, forMs: number): Promise<void> {
    this.#mustBeOpen();
    const { nowMs, slackMs } = this.#time();
    const args = [nowMs === undefined ? "" : String(nowMs), String(slackMs), String(forMs)];
    const tag = this.#names.tag(key);
    const keys = [this.#names.value(tag, scope), this.#names.escalation(tag, scope)];
    await this.#calls.run({ script: scripts.block, keys, args });
  }

  async escalate(reports: readonly RefusalReport[]): Promise<readonly Escalated[]> {
    return this.#eachGroup(reports, async (group) => {
      const { keys, args } = writeReports(group, this.#names, this.#time());
      return readEscalated(await this.#calls.run({ script: scripts.escalate, keys, args }));
    });
  }

  /** Ends the store's own connection; a client that you passed and that it uses as it is stays. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#port.close();
  }

  /** Asks something of each charge, which the script answers in order. */
  async #read<T>(
    script: Script,
    charges: readonly Charge[],
    next: (reply: ReplyReader, limit: Counter["limit"]) => T,
  ): Promise<readonly T[]> {
    const reply = await this.#call(script, charges[0].counter.epoch, (writer) => {
      for (const { counter, key, cost } of charges) {
        const tag = this.#names.tag(key);
        writer.numbers.push(
          writer.counter(counter, key, tag),
          writer.value(counter, key, tag),
          writer.limit(counter.limit),
          cost,
          shiftMsOf(counter.limit, key),
        );
      }
    });
    const answers = charges.map(({ counter }) => next(reply, counter.limit));
    reply.mustReach();
    return answers;
  }

  async #grant(charges: readonly Charge[], costOf: (charge: Charge) => number): Promise<void> {
    await this.#eachGroup(charges, async (group) => {
      await this.#call(scripts.grant, group[0].counter.epoch, (writer) => {
        for (const charge of group) {
          const tag = this.#names.tag(charge.key);
          writer.numbers.push(
            writer.counter(charge.counter, charge.key, tag),
            writer.open(charge.counter, charge.key, tag),
            writer.limit(charge.counter.limit),
            costOf(charge),
            shiftMsOf(charge.counter.limit, charge.key),
          );
        }
      });
      return [];
    });
  }

  /** In the order in which settle.lua reads. */
  #writeSettling(writer: CallWriter, { receipt, kept }: Settling): void {
    const { counter, key, cost } = receipt;
    const proof = toProof(receipt);
    const tag = this.#names.tag(key);
    writer.numbers.push(
      writer.counter(counter, key, tag),
      proof.name === ""
        ? writer.note(counter, tag, noteIdOf(receipt.proof as object, proof))
        : writer.open(counter, key, tag),
      proof.record === "" ? 0 : writer.name(proof.record),
      writer.limit(counter.limit),
      proof.name === "" ? 0 : writer.text(proof.name, SETTLE_FIXED_ARGS),
      cost,
      proof.atMs,
      proof.mark,
      proof.before,
      kept,
      shiftMsOf(counter.limit, key),
      proof.keepMs,
    );
  }

  /** Runs a script, and again with other calendar periods if the server's time needs them. */
  async #call(
    script: Script,
    epoch: number | undefined,
    write: (writer: CallWriter) => void,
  ): Promise<ReplyReader> {
    this.#mustBeOpen();
    const calls = epoch === undefined ? this.#calls : this.#fence.callsUnder(epoch);
    for (let attempt = 1; ; attempt++) {
      const writer = new CallWriter(this.#names);
      write(writer);
      try {
        const args = writer.args(this.#time());
        const reply = new ReplyReader(await calls.run({ script, keys: writer.keys, args }));
        this.#learnTime(reply.nowMs);
        return reply;
      } catch (error) {
        if (!(error instanceof PeriodUnknown) || attempt === PERIOD_TRIES_MAX) throw error;
        this.#learnTime(error.nowMs);
      }
    }
  }

  /** Does something to all items, those of one slot together, and returns what came, in order. */
  async #eachGroup<Item extends Keyed | Settling, T>(
    items: readonly Item[],
    act: (group: readonly Item[]) => Promise<readonly T[]>,
  ): Promise<readonly T[]> {
    this.#mustBeOpen();
    if (items.length === 0) return [];
    const groups = this.#byTag(items).flatMap(({ members }) => inChunks(members));
    if (groups.length === 1) return act(items);
    const answers = await Promise.all(groups.map((members) => act(members)));
    const byItem = new Map<Item, T>();
    for (const [g, members] of groups.entries()) {
      for (const [i, item] of members.entries()) byItem.set(item, answers[g][i]);
    }
    return items.map((item) => byItem.get(item) as T);
  }

  /** Items that one call can hold: all of them, or in a Cluster those of one identity. */
  #byTag<Item extends Keyed | Settling>(
    items: readonly Item[],
  ): readonly { members: readonly Item[] }[] {
    const groups = new Map<string, Item[]>();
    for (const item of items) {
      const { key } = "receipt" in item ? item.receipt : item;
      const tag = this.#port.isCluster ? this.#names.tag(key) : "";
      const members = groups.get(tag);
      if (members === undefined) groups.set(tag, [item]);
      else members.push(item);
    }
    return [...groups.values()].map((members) => ({ members }));
  }

  #time(): CallTime {
    const { clock, slackMs } = this.#setup;
    const nowMs = clock === undefined ? undefined : toWholeMs(clock.now());
    return { nowMs, guessMs: nowMs ?? this.#localMs() + this.#aheadMs, slackMs };
  }

  #learnTime(nowMs: number): void {
    this.#aheadMs = nowMs - this.#localMs();
  }

  #localMs(): number {
    return systemClock.now();
  }

  #mustBeOpen(): void {
    if (this.#isClosed) throw new SluiceError("SLUICE_CLOSED", "this Redis store");
  }
}

/**
 * A store in Redis 6.2 or later or in Valkey, over a client of ioredis or node-redis, single,
 * Sentinel or Cluster. See {@link RedisStoreOptions}.
 */
export function redisStore(client: RedisClient, options?: RedisStoreOptions): RedisStore {
  return new RedisStore(client, options);
}

function inChunks<T>(items: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / ITEMS_MAX);
  return Array.from({ length: count }, (_, i) => items.slice(i * ITEMS_MAX, (i + 1) * ITEMS_MAX));
}
