// The share of one rule in this process's region. Every second the process reads the region's own record, and uses what it
// says for a few seconds at most: so a lower share is in force everywhere in the region before another one may use what it
// gave up. One process of the region at a time also reports the region's demand to the plan in the home region's store.

import { type CancelTimer, type Clock, startTimer } from "../../../base/clock.js";
import { drop, type MaybePromise } from "../../../base/maybe-promise.js";
import type { Limit } from "../../../limits/limits.js";
import type { RecordAnswer, RecordStore } from "../../record-store.js";
import type { Store } from "../../store.js";
import { ASKED, withDemand } from "./share-demand.js";
import { keptParts, memoryMs, PARTS } from "./share-parts.js";
import {
  agree,
  NO_PLAN,
  NO_SHARE,
  provisionalOf,
  type RegionShare,
  type SharePlan,
} from "./share-plan.js";

/** How often a process reads its region's share. */
const READ_MS = 1_000;
/** For how long it uses what it read, counted from asking. */
const VALID_MS = 2_500;
/** How often one process of the region reports to the plan. */
const REPORT_MS = 2_000;
/** A change that reaches the region's store later is not made. */
const CHANGE_MS = 1_500;
/** Decisions that were asked for under the share before have an answer by then. */
const UNDERWAY_MS = 1_000;

/** How often and how long apart a share that is not known yet is read. */
const FIRST_TRIES = 10;
const FIRST_MS = 100;
/** How often a report is made again because another region's came between. */
const TRIES_MAX = 4;

/** What a share is learned with. */
export interface LearnedShareSetup {
  readonly self: string;
  /** The parts of all regions by weight. */
  readonly byWeight: ReadonlyMap<string, number>;
  readonly clock: Clock;
  /** The region's own store. */
  readonly own: Store;
  /** Records of the region's own store, and of the home region's. */
  readonly records: RecordStore;
  readonly plans: RecordStore;
}

/** What a process counts under. */
export interface ShareInForce {
  /** Distinguishes the counters of these parts from those before. */
  readonly change: number;
  readonly parts: number;
  /** The parts before, as long as their counters are charged as well. */
  readonly before: number | undefined;
}

/** The share of one rule. */
export class LearnedShare {
  readonly rule: string;
  readonly #setup: LearnedShareSetup;
  /** Weak: a limit that no rule has any more need not be waited for. */
  #limits: WeakRef<Limit>[] = [];
  readonly #included = new WeakSet<Limit>();
  /** What the record said when it was last read, and for how long it may be used. */
  #inForce: ShareInForce | undefined;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #claimMax = 0;
  #mayHaveMoved = false;
  #asked = 0;
  #isStarted = false;
  #isClosed = false;
  #cancel: CancelTimer | undefined;
  /** Resolves when the share is known for the first time, or will not be soon. */
  #first: Promise<void> | undefined;

  constructor(rule: string, setup: LearnedShareSetup) {
    this.rule = rule;
    this.#setup = setup;
  }

  /** A limit of the rule, whose counters may remember what was used under an earlier share. */
  include(limit: Limit): void {
    if (this.#included.has(limit)) return;
    this.#included.add(limit);
    this.#limits.push(new WeakRef(limit));
  }

  /** What is counted under now; undefined if that is not known. */
  get inForce(): ShareInForce | undefined {
    return this.#setup.clock.now() < this.#validUntilMs ? this.#inForce : undefined;
  }

  /** The parts that this process may use now: what no region ever gives up, if it does not know. */
  get parts(): number {
    const { inForce } = this;
    if (inForce === undefined) return this.keptParts;
    return Math.min(inForce.parts, inForce.before ?? inForce.parts);
  }

  /** What the region never gives up. */
  get keptParts(): number {
    const { byWeight, self } = this.#setup;
    return keptParts(byWeight.get(self) ?? 0);
  }

  /** Notes units that a caller asked for, admitted or not. */
  note(units: number): void {
    this.#asked += units;
  }

  /** Resolves when the share was read for the first time, or can't be; undefined if it was. Never rejects. */
  ready(): Promise<void> | undefined {
    if (this.#isStarted) return this.inForce === undefined ? this.#first : undefined;
    this.#isStarted = true;
    this.#first = this.#readFirst();
    return this.#first;
  }

  /** Learns no more. */
  close(): void {
    this.#isClosed = true;
    this.#cancel?.();
  }

  /** Another process of the region may be asking the home region: then it is known in a moment. */
  async #readFirst(): Promise<void> {
    for (let tries = 0; tries < FIRST_TRIES && !this.#isClosed; tries++) {
      const isAskedByOther = await this.#read();
      if (this.#inForce !== undefined || !isAskedByOther) break;
      await new Promise<void>((resolve) => {
        const cancel = startTimer(this.#setup.clock, FIRST_MS, resolve);
        // Requests wait for this: a policy that closes lets them go on.
        this.#cancel = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#first = undefined;
    this.#plan();
  }

  #plan(): void {
    if (this.#isClosed) return;
    // Weak: its timer does not keep the share of a rule that was removed.
    const ref = new WeakRef(this);
    this.#cancel = startTimer(this.#setup.clock, READ_MS, () => {
      const share = ref.deref();
      if (share !== undefined) share.#readAgain();
    });
  }

  #readAgain(): void {
    drop(this.#read().finally(() => this.#plan()));
  }

  /** Reads the region's record, and reports to the plan unless another process does, which it returns. Never rejects. */
  async #read(): Promise<boolean> {
    const { clock, records } = this.#setup;
    try {
      const sentAtMs = clock.now();
      const [answer] = await Promise.all([
        records.read(this.#name, sentAtMs),
        this.#asked > 0 ? this.#addAsked() : undefined,
      ]);
      const share = fromRecord<RegionShare>(answer);
      this.#use(share, { sentAtMs, nowMs: answer.nowMs });
      const isReportedByOther = share !== undefined && answer.nowMs < share.claimedUntilMs;
      if (!isReportedByOther) {
        // Without a share there is nothing to decide under yet: wait for it.
        const reported = this.#report(answer, share);
        if (share?.parts === undefined) return !(await reported);
        drop(reported);
      }
      return isReportedByOther;
    } catch {
      // What is known is used until it is too old.
      return false;
    }
  }

  #use(
    share: RegionShare | undefined,
    { sentAtMs, nowMs }: { sentAtMs: number; nowMs: number },
  ): void {
    // An older record than was seen before: the store lost what it knew.
    const isLost = share === undefined || share.claim < this.#claimMax;
    this.#claimMax = Math.max(this.#claimMax, share?.claim ?? 0);
    this.#mayHaveMoved ||= share?.haveAllReported === true;
    this.#inForce = isLost ? undefined : toInForce(share, nowMs);
    this.#validUntilMs = sentAtMs + VALID_MS;
  }

  /** Speaks for the region, unless another process was faster: then it returns false. Never rejects. */
  async #report({ value, nowMs }: RecordAnswer, share: RegionShare | undefined): Promise<boolean> {
    try {
      const claimed: RegionShare = {
        ...(share ?? NO_SHARE),
        claim: Math.max((share?.claim ?? 0) + 1, nowMs),
        claimedUntilMs: nowMs + REPORT_MS,
      };
      const startedAtMs = this.#setup.clock.now();
      if (!(await this.#change(value, claimed, nowMs))) return false;
      const agreed = await this.#agree(claimed, nowMs).catch(() => this.#provisional(claimed));
      if (agreed === undefined || this.#isClosed) return true;
      const isChanged = await this.#change(JSON.stringify(claimed), agreed, nowMs);
      // The plan knows of a raise already, and a lower share is used from now on. Nothing else has been read since.
      if (isChanged) this.#use(agreed, { sentAtMs: startedAtMs, nowMs });
    } catch {
      // The next report begins with what is written down by then.
    }
    return true;
  }

  /** What the region may write down after it reported to the plan; undefined if other regions were always faster. */
  async #agree(own: RegionShare, ownMs: number): Promise<RegionShare | undefined> {
    const { clock, plans, self, byWeight } = this.#setup;
    const mayHaveMoved = this.#mayHaveMoved;
    const measured = withDemand(own, { units: await this.#addAsked(), nowMs: ownMs });
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const answer = await plans.read(this.#planName, clock.now());
      const agreed = agree(fromRecord<SharePlan>(answer) ?? NO_PLAN, {
        self,
        byWeight,
        own: measured,
        ownMs,
        homeMs: answer.nowMs,
        mayHaveMoved,
        rememberedMs: (change) => this.#rememberedMs(change),
      });
      if (agreed.plan === undefined || (await this.#write(answer, agreed.plan))) return agreed.own;
    }
    return undefined;
  }

  #provisional(own: RegionShare): RegionShare | undefined {
    const { byWeight, self } = this.#setup;
    return provisionalOf(own, byWeight.get(self) ?? 0);
  }

  #write(answer: RecordAnswer, plan: SharePlan): MaybePromise<boolean> {
    const { plans, clock } = this.#setup;
    return plans.change({
      name: this.#planName,
      before: answer.value,
      value: JSON.stringify(plan),
      untilMs: answer.nowMs + CHANGE_MS,
      nowMs: clock.now(),
    });
  }

  /** Changes the region's record, if it still says what was read, and soon after that. */
  #change(before: string | undefined, share: RegionShare, readMs: number): MaybePromise<boolean> {
    const { records, clock } = this.#setup;
    return records.change({
      name: this.#name,
      before,
      value: JSON.stringify(share),
      untilMs: readMs + CHANGE_MS,
      nowMs: clock.now(),
    });
  }

  /** Adds what this process was asked for to what others were, and returns the sum. */
  async #addAsked(): Promise<number> {
    const { own, clock } = this.#setup;
    const cost = this.#asked;
    this.#asked = 0;
    const charge = { counter: ASKED, key: `rule:${this.rule}`, cost, nowMs: clock.now() };
    const [{ used }] = await own.debit([charge]);
    return Math.round(used);
  }

  #rememberedMs(change: { from: number; to: number }): number {
    this.#limits = this.#limits.filter((ref) => ref.deref() !== undefined);
    let longestMs = 0;
    for (const ref of this.#limits) {
      const limit = ref.deref();
      if (limit !== undefined) longestMs = Math.max(longestMs, memoryMs(limit, change));
    }
    return CHANGE_MS + VALID_MS + UNDERWAY_MS + longestMs;
  }

  /** In the home region, both records are in one store. */
  get #name(): string {
    return `share:${this.#setup.self}:${this.rule}`;
  }

  get #planName(): string {
    return `shares:${this.rule}`;
  }
}

/** The region's share as a number from 0 to 1. */
export function toFraction({ parts }: LearnedShare): number {
  return parts / PARTS;
}

/** `nowMs`: when it was read, by the region's clock. */
function toInForce({ change, parts, before, beforeUntilMs }: RegionShare, nowMs: number) {
  if (parts === undefined) return undefined;
  return { change, parts, before: before > 0 && nowMs < beforeUntilMs ? before : undefined };
}

function fromRecord<T>({ value }: RecordAnswer): T | undefined {
  return value === undefined ? undefined : (JSON.parse(value) as T);
}
