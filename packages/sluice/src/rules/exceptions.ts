// Exceptions: other limits of a rule for some callers, by API key, user, tenant or plan. They come from outside the
// rule file, such as from a database of plans and overrides, and are added to the rules before the rules are put in
// force.

import { createHash } from "node:crypto";
import { TIME_MS_MAX } from "../base/clock.js";
import { show } from "../base/errors.js";
import { nearestName } from "../base/nearest-name.js";
import { isRecord, Spot, TooManyValues } from "../base/shapes/shapes.js";
import { ITEMS_A_STEP, runInSlices, runSteps, type Steps } from "../base/steps.js";
import { isLimit, type Limit } from "../limits/limits.js";
import { toValue } from "./normalize/normalize-string.js";
import { checkAddedLimits } from "./parse/cross-checks.js";
import { RuleProblems } from "./parse/problems.js";
import { limits as limitsShape } from "./parse/rule-fields/limit.js";
import { RuleReading } from "./parse/rule-reading.js";
import { toMeaning } from "./parse/version.js";
import {
  EXCEPTION_SUBJECTS,
  type ExceptionLimits,
  type ExceptionSubject,
  type Rule,
  type RuleExceptions,
  type RuleSet,
} from "./rule.js";

/** Other limits of a rule for some callers. */
export interface RuleException {
  /** The rule that it is an exception of. */
  readonly ruleId: string;
  /** Which fact of a request says whom it is for. */
  readonly by: ExceptionSubject;
  /** The value of that fact: the id of a user, the name of a plan. */
  readonly value: string;
  /**
   * What a rule takes as its `limit`: a limit that a constructor made, `"100/minute"`, an object such as
   * `{ tokenBucket: { … } }`, a list of these, or `"unlimited"`.
   */
  readonly limits: string | object;
  /** When it ends, in milliseconds since 1970 by the wall clock. Default: it does not end. */
  readonly endsAtMs?: number | undefined;
}

/** How exceptions are added. */
export interface ExceptionsOptions {
  /** What an exception of a rule that is not in the set is: an error, or left out. Default `"refuse"`. */
  readonly unknownRules?: "refuse" | "ignore";
}

/** The most exceptions that a set of rules may have. */
const EXCEPTIONS_MAX = 100_000;

/** What exceptions are sorted in, so that none of them takes long. */
const BUCKETS = 256;

/** Longer values are not ids that a person or program gave. */
const VALUE_LENGTH_MAX = 256;

/**
 * The rules with these exceptions, in place of any that they had. A request under a rule gets the limits of the first
 * that is found: an override of its key, an exception by its API key, its user, its tenant, its plan, the tier, the
 * rule itself. Of several exceptions for the same caller the first in the list that has not ended holds.
 *
 * What a caller has used stays counted if the rule's key has the value in it (for a plan: the tenant). Otherwise
 * callers with and without the exception share keys, and the exception counts separately.
 *
 * @throws RulesError (`SLUICE_RULES_INVALID`) that reports every exception that can't be used.
 */
export function withExceptions(
  ruleSet: RuleSet,
  exceptions: readonly RuleException[],
  options: ExceptionsOptions = {},
): RuleSet {
  return runSteps(addInSteps(ruleSet, exceptions, options));
}

/**
 * The same as {@link withExceptions} in slices of a few milliseconds, between which requests are decided: tens of thousands
 * of exceptions take a fifth of a second.
 */
export function withExceptionsInSlices(
  ruleSet: RuleSet,
  exceptions: readonly RuleException[],
  options: ExceptionsOptions = {},
): Promise<RuleSet> {
  return runInSlices(addInSteps(ruleSet, exceptions, options));
}

function* addInSteps(
  ruleSet: RuleSet,
  exceptions: readonly RuleException[],
  { unknownRules = "refuse" }: ExceptionsOptions,
): Steps<RuleSet> {
  const bare = withoutExceptions(ruleSet);
  const problems = new RuleProblems({ value: bare, file: undefined, locate: () => undefined });
  const isLenient = unknownRules === "ignore";
  const byRule = yield* readAll(bare, exceptions, { problems, isLenient });
  problems.throwIfAny();
  if (byRule.size === 0) return bare;
  const rules = bare.rules.map((rule) => {
    const own = byRule.get(rule.id);
    return own === undefined ? rule : { ...rule, exceptions: own };
  });
  const { version } = bare;
  return { ...bare, rules, version: yield* toVersion(version, byRule), versionOfRules: version };
}

function withoutExceptions(ruleSet: RuleSet): RuleSet {
  const { versionOfRules, ...bare } = ruleSet;
  if (versionOfRules === undefined) return ruleSet;
  const rules = bare.rules.map(({ exceptions, ...rule }): Rule => rule);
  return { ...bare, rules, version: versionOfRules };
}

/** As long as the version of the rules that it extends. The order of exceptions for different callers does not matter. */
function* toVersion(version: string, byRule: ReadonlyMap<string, RuleExceptions>): Steps<string> {
  const digests = new Map<readonly Limit[], string>();
  // A step sorts one bucket.
  const buckets = Array.from({ length: BUCKETS }, (): string[] => []);
  let count = 0;
  for (const [ruleId, exceptions] of byRule) {
    for (const [by, byValue] of exceptions) {
      for (const [value, list] of byValue) {
        let line = `${ruleId}/${by}:${JSON.stringify(value)}`;
        for (const { limits, endsAtMs } of list)
          line += `=${digestOf(limits, digests)}@${endsAtMs}`;
        buckets[bucketOf(value)].push(line);
        if (++count % ITEMS_A_STEP === 0) yield;
      }
    }
  }
  const hash = createHash("sha256").update(`${version}\n`);
  for (const lines of buckets) {
    hash.update(lines.sort().join("\n")).update("\n");
    yield;
  }
  return hash.digest("hex").slice(0, version.length);
}

/** A bucket that depends on the value alone. */
function bucketOf(value: string): number {
  let mixed = 0;
  for (let i = 0; i < value.length; i++) mixed = Math.imul(mixed, 31) + value.charCodeAt(i);
  return (mixed >>> 0) % BUCKETS;
}

/** Most exceptions share their limits with others. */
function digestOf(limits: readonly Limit[], known: Map<readonly Limit[], string>): string {
  const digest = known.get(limits) ?? toHash(toMeaning(limits)).slice(0, 16);
  known.set(limits, digest);
  return digest;
}

function toHash(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

interface ReadContext {
  readonly problems: RuleProblems;
  readonly isLenient: boolean;
}

type MutableExceptions = Map<ExceptionSubject, Map<string, ExceptionLimits[]>>;

function* readAll(
  { rules, ipv6Prefix }: RuleSet,
  exceptions: readonly RuleException[],
  { problems, isLenient }: ReadContext,
): Steps<Map<string, MutableExceptions>> {
  const reader = new ExceptionReader(rules, new Spot(new RuleReading(problems, ipv6Prefix)));
  const byRule = new Map<string, MutableExceptions>();
  if (exceptions.length > EXCEPTIONS_MAX) {
    problems.add(
      ["exceptions"],
      `are ${exceptions.length}, at most ${EXCEPTIONS_MAX} are possible`,
    );
    return byRule;
  }
  try {
    for (const [i, exception] of exceptions.entries()) {
      if (isLenient && !reader.knows(exception.ruleId)) continue;
      const read = reader.read(exception, i);
      if (read !== undefined) add(byRule, exception, read.value, read.limits);
      if (i % ITEMS_A_STEP === ITEMS_A_STEP - 1) yield;
    }
  } catch (error) {
    if (!(error instanceof TooManyValues)) throw error;
    problems.add(["exceptions"], "hold more values than can be read");
  }
  return byRule;
}

function add(
  byRule: Map<string, MutableExceptions>,
  { ruleId, by }: RuleException,
  value: string,
  limits: ExceptionLimits,
): void {
  const own: MutableExceptions = byRule.get(ruleId) ?? new Map();
  byRule.set(ruleId, own);
  const byValue = own.get(by) ?? new Map<string, ExceptionLimits[]>();
  own.set(by, byValue);
  const list = byValue.get(value);
  if (list === undefined) byValue.set(value, [limits]);
  // One that ends no later than those before it never holds.
  else if (limits.endsAtMs > (list.at(-1)?.endsAtMs ?? 0)) list.push(limits);
}

/** Reads exceptions one by one, and reports what is wrong with each. */
class ExceptionReader {
  readonly #rules: readonly Rule[];
  readonly #indexOf: ReadonlyMap<string, number>;
  readonly #spot: Spot;
  /** Limits by how they were written: many exceptions say the same. */
  readonly #known = new Map<string, readonly Limit[]>();

  constructor(rules: readonly Rule[], spot: Spot) {
    this.#rules = rules;
    this.#indexOf = new Map(rules.map(({ id }, i) => [id, i]));
    this.#spot = spot;
  }

  knows(ruleId: string): boolean {
    return this.#indexOf.has(ruleId);
  }

  read(
    {
      ruleId,
      by,
      value: written,
      limits: given,
      endsAtMs = Number.POSITIVE_INFINITY,
    }: RuleException,
    i: number,
  ): { readonly value: string; readonly limits: ExceptionLimits } | undefined {
    const index = this.#indexOf.get(ruleId);
    const value = toValue(written);
    const at = this.#spot.at("exceptions").at(i);
    if (index === undefined) {
      const meant = nearestName(String(ruleId), [...this.#indexOf.keys()]);
      const hint = meant === undefined ? "" : `; did you mean ${show(meant)}?`;
      return at.at("ruleId").say(`is ${show(ruleId)}, which is not a rule of the set${hint}`);
    }
    if (!EXCEPTION_SUBJECTS.includes(by)) {
      return at.at("by").refuse(`one of ${EXCEPTION_SUBJECTS.join(", ")}`, by);
    }
    if (value === undefined || value.length > VALUE_LENGTH_MAX) {
      return at.at("value").refuse(`a string of 1 to ${VALUE_LENGTH_MAX} characters`, written);
    }
    if (!isEnd(endsAtMs)) {
      return at.at("endsAtMs").refuse("milliseconds since 1970, until the year 2100", endsAtMs);
    }
    const limits = this.#limits(index, given, `${by}:${value}`);
    return limits === undefined ? undefined : { value, limits: { limits, endsAtMs } };
  }

  #limits(index: number, given: unknown, name: string): readonly Limit[] | undefined {
    const text = toText(given);
    const spot = this.#spot.at("rules").at(index).at("exceptions").at(name);
    const limits =
      (text === undefined ? undefined : this.#known.get(text)) ?? limitsShape.read(given, spot);
    if (limits === undefined) return undefined;
    if (text !== undefined) this.#known.set(text, limits);
    const problemCount = spot.problemCount;
    checkAddedLimits(this.#rules[index], limits, spot);
    return spot.problemCount > problemCount ? undefined : limits;
  }
}

/** Limits as they are written, to find equal ones; undefined for those that constructors made, and lists. */
function toText(given: unknown): string | undefined {
  if (typeof given === "string") return given;
  return isRecord(given) && !isLimit(given) ? JSON.stringify(given) : undefined;
}

function isEnd(endsAtMs: unknown): endsAtMs is number {
  if (endsAtMs === Number.POSITIVE_INFINITY) return true;
  return (
    Number.isInteger(endsAtMs) && (endsAtMs as number) >= 0 && (endsAtMs as number) <= TIME_MS_MAX
  );
}
