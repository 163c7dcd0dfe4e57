// What a draft of the rules would have done to the traffic of the last minutes. Previews run one after the other,
// long rules in a thread and others in short slices, so that decisions continue meanwhile.

import {
  type CallerBlocks,
  type NetworkOf,
  type RuleException,
  type RuleSet,
  withExceptions,
} from "sluice/rules";
import { nextTurn } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { ReplayContext, ReplaySample } from "../replay/replay.js";
import { type Replayings, replayBoth } from "../replay/replay-both.js";
import type { UnjudgedRule } from "../replay/unjudged-rules.js";
import { parseKnown, readAhead } from "../rules/known-rules.js";
import { isForThread, replayInThread } from "../rules/thread-reader.js";
import type { RulesText } from "../rules-text.js";
import { Comparison, type Differences, type IsWhole } from "./comparison.js";

/** What a preview is made of. */
export interface PreviewInput extends ReplayContext {
  /** The draft, as it was written. */
  readonly text: string;
  /** With their exceptions. */
  readonly inForce: RuleSet;
  /** The same as they were written, without exceptions, so that a thread can read them. Default: none does. */
  readonly inForceText?: RulesText | undefined;
  /** The exceptions of plans and overrides, which apply to the draft too. Default: none. */
  readonly exceptions?: readonly RuleException[] | undefined;
  /** Callers that operators block: their requests are left out, since both refuse them. Default: none. */
  readonly blocks?: CallerBlocks | undefined;
  /** What network an address belongs to. Default: that is not known. */
  readonly networkOf?: NetworkOf | undefined;
  /** The oldest first; those of each place together. */
  readonly samples: readonly ReplaySample[];
  /** From when the samples are complete, and until when. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether all requests of a key are among the samples. Default: of every key. */
  readonly isWhole?: IsWhole | undefined;
  /** How long deciding them may take; default 5,000. Later samples are left out. */
  readonly workMsMax?: number | undefined;
}

/** What a draft would have done. */
export interface Preview extends Differences {
  readonly fromMs: number;
  readonly toMs: number;
  /** The version of the draft, and of the rules in force. */
  readonly version: string;
  readonly inForceVersion: string;
  /** Samples that were left out, since there were too many. */
  readonly samplesLeftOut: number;
  readonly unjudgedRules: readonly UnjudgedRule[];
}

const SLICE_MS_MAX = 8;
const WORK_MS_MAX = 5_000;
const SAMPLES_MAX = 50_000;
const WAITING_MAX = 8;
const FILE = "draft";

let waiting = 0;
let last: Promise<unknown> = Promise.resolve();

/**
 * Decides the samples again, by the draft and by the rules in force.
 *
 * @throws RulesError if the draft can't be read, what else keeps a policy from using it, or ServerError
 *   `SLUICE_RULES_BUSY` if too many previews wait.
 */
export function preview(input: PreviewInput): Promise<Preview> {
  if (waiting >= WAITING_MAX) {
    const seen = `${WAITING_MAX} previews wait; try again in a moment`;
    return Promise.reject(new ServerError("SLUICE_RULES_BUSY", seen));
  }
  waiting++;
  const result = last
    .then(() => run(input))
    .finally(() => {
      waiting--;
    });
  last = result.catch(() => {});
  return result;
}

async function run(input: PreviewInput): Promise<Preview> {
  const { text, inForceText, inForce, fromMs, toMs } = input;
  const judged = input.samples.filter((sample) => isJudged(sample, input)).slice(-SAMPLES_MAX);
  const samples = judged.map((sample) => withNetwork(sample, input));
  const isLong = isForThread(text) || isForThread(inForceText?.text ?? "");
  const { version, before, after, unjudged } =
    isLong && inForceText !== undefined
      ? await replayElsewhere({ ...input, samples }, inForceText)
      : await replayHere({ ...input, samples });
  const comparison = new Comparison(input.isWhole ?? (() => true));
  for (const [i, was] of before.entries()) comparison.add(samples[i], was, after[i]);
  return {
    fromMs,
    toMs,
    version,
    inForceVersion: inForce.version,
    ...comparison.differences,
    samplesLeftOut: samples.length - before.length,
    unjudgedRules: unjudged,
  };
}

function isJudged({ facts, atMs }: ReplaySample, { blocks }: PreviewInput): boolean {
  return facts !== null && blocks?.find(facts, atMs) === undefined;
}

/** Networks are looked up before, as they are known here: a thread can't ask. */
function withNetwork(sample: ReplaySample, { networkOf }: PreviewInput): ReplaySample {
  const { facts } = sample;
  const network = facts?.ip === undefined ? undefined : networkOf?.(facts.ip);
  return facts === null || network === undefined
    ? sample
    : { ...sample, facts: { ...network, ...facts } };
}

async function replayHere(input: PreviewInput): Promise<Replayings> {
  const { text, exceptions = [], fromMs, toMs, workMsMax = WORK_MS_MAX } = input;
  // Without rules in force as they were written there is no thread that replays, but long drafts are read in one.
  await readAhead({ file: FILE, text }, { purpose: "inspect" });
  const parsed = parseKnown({ file: FILE, text });
  const draft = withExceptions(parsed, exceptions, { unknownRules: "ignore" });
  const pace = { workMsMax, sliceMsMax: SLICE_MS_MAX, pause: nextTurn };
  return replayBoth({ ...input, draft, spanMs: toMs - fromMs }, pace);
}

/** Tenants are looked up before: a thread can't ask. */
function replayElsewhere(input: PreviewInput, inForce: RulesText): Promise<Replayings> {
  const { text, exceptions = [], switches, regions, findTenant, fromMs, toMs } = input;
  const samples = input.samples.map(({ atMs, facts, outcome, place }) => ({
    atMs,
    facts,
    outcome,
    place,
  }));
  const names = new Set(samples.flatMap(({ facts }) => facts?.tenant ?? []));
  const known = [...names].flatMap((name) => {
    const profile = findTenant?.(name);
    return profile === undefined ? [] : [[name, profile] as const];
  });
  return replayInThread({
    draft: { file: FILE, text },
    inForce,
    exceptions,
    switches,
    regions,
    tenants: new Map(known),
    samples,
    spanMs: toMs - fromMs,
    workMsMax: input.workMsMax ?? WORK_MS_MAX,
  });
}
