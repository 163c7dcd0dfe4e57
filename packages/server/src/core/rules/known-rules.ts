// Rules that this process has read and still has, so that a rule set is read once, however many parts of the service
// ask for it: the check before a publish, overrides that name its rules, and what puts it in force. Long rules are read
// ahead, in a thread.

import { parseRules, type RuleSet } from "sluice/rules";
import { after } from "../../base/clock.js";
import { collectAfterReading } from "../collect-garbage.js";
import type { RulesText } from "../rules-text.js";
import { mustBeUsable, type ReadJob, type RulesUse } from "./read-job.js";
import { isForThread, readInThread } from "./thread-reader.js";
import { idsWithConsistency } from "./written-consistency.js";

interface Known extends RulesText {
  readonly rules: WeakRef<RuleSet>;
  /** What they were checked for. */
  readonly use: RulesUse | undefined;
  /** The ids of those that say their `consistency`; undefined if that was not looked for. */
  readonly withConsistency: readonly string[] | undefined;
}

/** The rules in force, those that are being published, and two to compare. */
const KNOWN_MAX = 4;
/** How long rules that were read ahead wait to be used. */
const AHEAD_MS_MAX = 30_000;

/** The latest last. */
let known: readonly Known[] = [];
const ahead = new Set<RuleSet>();

/** Parses rules, unless they are known. @throws RulesError with the line of each problem. */
export function parseKnown({ file, text }: RulesText): RuleSet {
  const before = find({ file, text })?.rules.deref();
  if (before !== undefined) return before;
  collectAfterReading(text);
  const rules = parseRules(text, { file });
  add({ file, text, rules: new WeakRef(rules), use: undefined, withConsistency: undefined });
  return rules;
}

/**
 * Reads long rules in a thread, so that {@link parseKnown} finds them. Short ones are left to it.
 *
 * @param options - `use`: what they are checked for too, see {@link mustBeUsable}. `purpose`: whether they are to come
 *   into force (the default), or are only looked at.
 * @throws RulesError, and what {@link readInThread} throws.
 */
export async function readAhead(
  { file, text }: RulesText,
  { use, purpose = "enforce" }: Partial<Pick<ReadJob, "use" | "purpose">> = {},
): Promise<void> {
  if (!isForThread(text)) return;
  const before = find({ file, text });
  if (before?.rules.deref() !== undefined && (use === undefined || isSame(before.use, use))) return;
  const { rules, withConsistency } = await readInThread({
    file,
    text,
    use,
    returnsRules: true,
    purpose,
  });
  if (rules === undefined) return;
  add({ file, text, rules: new WeakRef(rules), use, withConsistency });
  ahead.add(rules);
  after(AHEAD_MS_MAX, () => ahead.delete(rules));
}

/** Whether {@link parseKnown} answers without long work: the rules are short, or known. */
export function isQuick(written: RulesText): boolean {
  return !isForThread(written.text) || find(written)?.rules.deref() !== undefined;
}

/** The ids of the rules that say their `consistency`; of known rules without reading them again. */
export function knownIdsWithConsistency(written: RulesText): readonly string[] {
  return find(written)?.withConsistency ?? idsWithConsistency(written.text);
}

/** The version of rules that this service can use; long ones are read in a thread. @throws What is wrong with them. */
export async function checkRules(text: string, use: RulesUse | undefined): Promise<string> {
  if (isForThread(text)) {
    const job = { text, file: undefined, use, returnsRules: false, purpose: "inspect" } as const;
    return (await readInThread(job)).version;
  }
  const rules = parseRules(text);
  if (use !== undefined) mustBeUsable(rules, use);
  return rules.version;
}

/** Throws what keeps policies from using rules, unless {@link readAhead} has looked already. */
export function mustBeUsableOnce(rules: RuleSet, use: RulesUse): void {
  const isChecked = known.some((each) => each.rules.deref() === rules && isSame(each.use, use));
  if (!isChecked) mustBeUsable(rules, use);
}

function find({ file, text }: RulesText): Known | undefined {
  return known.findLast((each) => each.file === file && each.text === text);
}

function add(read: Known): void {
  const others = known.filter((each) => each.file !== read.file || each.text !== read.text);
  known = [...others, read].slice(-KNOWN_MAX);
}

function isSame(one: RulesUse | undefined, other: RulesUse): boolean {
  return (
    one?.seesResponses === other.seesResponses &&
    one.hasLedger === other.hasLedger &&
    JSON.stringify(one.regions) === JSON.stringify(other.regions)
  );
}
