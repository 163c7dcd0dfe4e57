// Decides the same samples by two sets of rules: here in slices, or in a thread in one go.

import {
  parseRules,
  type RuleException,
  type RuleSet,
  type SwitchStates,
  type TenantProfile,
  withExceptions,
} from "sluice/rules";
import { readMs } from "../../base/clock.js";
import type { RegionsConfig } from "../../config/config.js";
import type { RulesText } from "../rules-text.js";
import { Replay, type ReplayContext, type Replayed, type ReplaySample } from "./replay.js";
import { type UnjudgedRule, unjudgedRules } from "./unjudged-rules.js";

/** A replay as plain data, which a thread can be sent: rules as they were written. */
export interface ReplayJob {
  readonly draft: RulesText;
  readonly inForce: RulesText;
  readonly exceptions: readonly RuleException[];
  readonly switches: SwitchStates | undefined;
  readonly regions: RegionsConfig | undefined;
  /** The profiles of the tenants that samples name. */
  readonly tenants: ReadonlyMap<string, TenantProfile>;
  readonly samples: readonly ReplaySample[];
  /** The time that they cover. */
  readonly spanMs: number;
  readonly workMsMax: number;
}

/** The answers to the samples that there was time for, in their order. Plain data too. */
export interface Replayings {
  /** The version of the draft. */
  readonly version: string;
  readonly before: readonly Replayed[];
  readonly after: readonly Replayed[];
  readonly unjudged: readonly UnjudgedRule[];
}

/** Two sets of rules, and what is decided by them. */
export interface ReplaySides extends ReplayContext {
  readonly draft: RuleSet;
  readonly inForce: RuleSet;
  readonly samples: readonly ReplaySample[];
  readonly spanMs: number;
}

/** How the work is paced. */
export interface Pace {
  /** What does not fit is left out. */
  readonly workMsMax: number;
  /** Work without a pause. */
  readonly sliceMsMax: number;
  /** Lets others run. */
  pause(): Promise<void>;
}

/** Runs a job where nothing else waits. @throws RulesError, and what else keeps a policy from using the draft. */
export async function runReplayJob(job: ReplayJob): Promise<Replayings> {
  const { exceptions, tenants, workMsMax } = job;
  const read = ({ file, text }: RulesText) =>
    withExceptions(parseRules(text, { file }), exceptions, { unknownRules: "ignore" });
  const rules = { draft: read(job.draft), inForce: read(job.inForce) };
  const findTenant = (tenant: string) => tenants.get(tenant);
  const pace = { workMsMax, sliceMsMax: workMsMax, pause: async () => {} };
  return replayBoth({ ...job, ...rules, findTenant }, pace);
}

/**
 * Decides the samples, by the rules in force and by the draft; those of each place with counters of their own.
 *
 * @throws What keeps a policy from using the draft.
 */
export async function replayBoth(sides: ReplaySides, pace: Pace): Promise<Replayings> {
  const { draft, inForce, samples, spanMs } = sides;
  const before: Replayed[] = [];
  const after: Replayed[] = [];
  let pair = await ReplayPair.of(sides);
  try {
    let leftMs = pace.workMsMax;
    let sliceMs = readMs();
    for (const [at, sample] of samples.entries()) {
      const spentMs = readMs() - sliceMs;
      if (spentMs > leftMs) break;
      const isElsewhere = at > 0 && sample.place !== samples[at - 1].place;
      if (spentMs > pace.sliceMsMax || isElsewhere) {
        leftMs -= spentMs;
        await pace.pause();
        if (isElsewhere) pair = await pair.next();
        sliceMs = readMs();
      }
      const [was, is] = [pair.first.decide(sample), pair.second.decide(sample)];
      before.push(was instanceof Promise ? await was : was);
      after.push(is instanceof Promise ? await is : is);
    }
  } finally {
    await pair.close();
  }
  return { version: draft.version, before, after, unjudged: unjudgedRules(draft, inForce, spanMs) };
}

/** Both sets of rules over the counters of one place. */
class ReplayPair {
  static async of(sides: ReplaySides): Promise<ReplayPair> {
    const first = await Replay.of(sides.inForce, sides);
    const second = await Replay.of(sides.draft, sides).catch(async (error: unknown) => {
      await first.close();
      throw error;
    });
    return new ReplayPair(sides, first, second);
  }

  private constructor(
    private readonly sides: ReplaySides,
    readonly first: Replay,
    readonly second: Replay,
  ) {}

  /** The same rules with empty counters. */
  async next(): Promise<ReplayPair> {
    await this.close();
    return ReplayPair.of(this.sides);
  }

  async close(): Promise<void> {
    await Promise.all([this.first.close(), this.second.close()]);
  }
}
