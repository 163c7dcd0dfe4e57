// What a draft of the rules would have done to the traffic of the last minutes. Previews run one after the other and in
// short slices, so that decisions go on meanwhile.

import { type RuleException, type RuleSet, withExceptions } from "sluice/rules";
import { atEndOfTurn, readMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import { parseKnown, readAhead } from "../rules/known-rules.js";
import { Comparison, type Differences } from "./comparison.js";
import { Replay, type ReplaySample, type Surroundings } from "./replay.js";
import { type UnjudgedRule, unjudgedRules } from "./unjudged-rules.js";

/** What a preview is made of. */
export interface PreviewInput extends Surroundings {
  /** The draft, as it was written. */
  readonly text: string;
  /** With their exceptions. */
  readonly inForce: RuleSet;
  /** Of plans and overrides, which the draft gets too. Default: none. */
  readonly exceptions?: readonly RuleException[] | undefined;
  /** The oldest first. */
  readonly samples: readonly ReplaySample[];
  /** From when the samples are complete, and until when. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether all requests of a key are among the samples. Default: of every key. */
  readonly isWhole?: ((key: string) => boolean) | undefined;
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
  const { text, inForce, exceptions = [], fromMs, toMs } = input;
  await readAhead({ file: FILE, text });
  const parsed = parseKnown({ file: FILE, text });
  const draft = withExceptions(parsed, exceptions, { unknownRules: "ignore" });
  const samples = input.samples.filter(({ facts }) => facts !== null).slice(-SAMPLES_MAX);
  const before = new Replay(inForce, input);
  await nextTurn();
  const after = new Replay(draft, input);
  await nextTurn();
  try {
    const comparison = new Comparison(input.isWhole ?? (() => true));
    const done = await compare(samples, { before, after, comparison }, input.workMsMax);
    return {
      fromMs,
      toMs,
      version: draft.version,
      inForceVersion: inForce.version,
      ...comparison.differences,
      samplesLeftOut: samples.length - done,
      unjudgedRules: unjudgedRules(draft, inForce, toMs - fromMs),
    };
  } finally {
    await Promise.all([before.close(), after.close()]);
  }
}

interface Sides {
  readonly before: Replay;
  readonly after: Replay;
  readonly comparison: Comparison;
}

/** Returns how many samples there was time for. */
async function compare(
  samples: readonly ReplaySample[],
  { before, after, comparison }: Sides,
  workMsMax = WORK_MS_MAX,
): Promise<number> {
  let workedMs = 0;
  let sliceMs = readMs();
  for (const [at, sample] of samples.entries()) {
    const spentMs = readMs() - sliceMs;
    if (spentMs > SLICE_MS_MAX) {
      workedMs += spentMs;
      if (workedMs > workMsMax) return at;
      await nextTurn();
      sliceMs = readMs();
    }
    const was = before.decide(sample);
    const is = after.decide(sample);
    comparison.add(
      sample,
      was instanceof Promise ? await was : was,
      is instanceof Promise ? await is : is,
    );
  }
  return samples.length;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => atEndOfTurn(resolve));
}
