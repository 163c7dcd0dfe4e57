// Checks what plans, overrides and switches say about published rules: the rules exist, and the limits fit them.

import {
  parseRules,
  type RuleException,
  type RuleSet,
  RulesError,
  withExceptions,
} from "sluice/rules";
import { didYouMean } from "../../base/did-you-mean.js";
import { ServerError, show } from "../../base/errors.js";
import { parseKnown } from "../../core/rules/known-rules.js";
import { mustBeUsable, type RulesUse } from "../../core/rules/read-job.js";
import type { Entities, Entity } from "../changes/entity.js";
import { publishedTextOf } from "./rule-sets.js";

/** What policies take of all overrides and plans: with one more, none of them would come into force. */
const EXCEPTIONS_MAX = 100_000;

/** An exception of a plan or an override, and the field that has its limit. */
export interface WrittenException extends RuleException {
  readonly field: string;
}

/** What is written, and how nodes use rules; undefined: what they need is not checked. */
interface Writing extends Pick<Entity, "kind" | "id"> {
  readonly rulesUse: RulesUse | undefined;
}

/**
 * Throws if there is no such rule, or if the limits do not fit it or can't be used, such as a limit with fewer units
 * than regions share it. A misspelt rule would otherwise change nothing, silently, and a limit that does not fit would
 * keep every later change out of force.
 *
 * @throws ServerError `SLUICE_REQUEST_INVALID`, or `SLUICE_CONFLICT` if there would be too many exceptions.
 */
export async function mustFitRules(
  entities: Entities,
  written: Writing,
  exceptions: readonly WrittenException[],
): Promise<void> {
  if (exceptions.length === 0) return;
  const count = (await countOthers(entities, written)) + exceptions.length;
  if (count > EXCEPTIONS_MAX) {
    const seen = `overrides and plans would have ${count} limits, at most ${EXCEPTIONS_MAX} can be in force`;
    throw conflict(`${seen}; remove overrides that have ended`);
  }
  const rules = await publishedRules(entities);
  for (const { ruleId } of exceptions) mustHaveRule(rules, ruleId);
  try {
    const { rules: all, ...others } = withExceptions(rules, exceptions);
    const changed = all.filter(({ id }) => exceptions.some(({ ruleId }) => ruleId === id));
    if (written.rulesUse !== undefined)
      mustBeUsable({ ...others, rules: changed }, written.rulesUse);
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    const messages = error.problems.map(({ message }) => toWritten(message, exceptions));
    throw invalid(messages.join("; "));
  }
}

/** Says the field that the operator wrote instead of the place that the limit would have among the rules. */
function toWritten(message: string, exceptions: readonly WrittenException[]): string {
  for (const { ruleId, by, value, field } of exceptions) {
    const place = `rule ${JSON.stringify(ruleId)}: exceptions[${JSON.stringify(`${by}:${value}`)}]`;
    if (message.startsWith(place)) return field + message.slice(place.length);
  }
  return message;
}

/** The exceptions that all other overrides and plans make. */
async function countOthers(
  entities: Entities,
  { kind, id }: Pick<Entity, "kind" | "id">,
): Promise<number> {
  const isReplaced = kind === "override" && (await entities.find(kind, id)) !== undefined;
  const others = (await entities.all("plan")).filter((plan) => kind !== "plan" || plan.id !== id);
  const counts = others.map(({ body }) => Object.keys(body.limits as object).length);
  const overrides = (await entities.count("override")) - (isReplaced ? 1 : 0);
  return counts.reduce((sum, each) => sum + each, overrides);
}

/** @throws ServerError `SLUICE_REQUEST_INVALID` if no rule has the id. */
export function mustHaveRule({ rules }: RuleSet, ruleId: string): void {
  const ids = rules.map(({ id }) => id);
  if (ids.includes(ruleId)) return;
  throw invalid(`no published rule has the id ${show(ruleId)}${didYouMean(ruleId, ids)}`);
}

/** The published rules; none if nothing is published. */
export async function publishedRules(entities: Entities): Promise<RuleSet> {
  const published = await publishedTextOf(entities);
  return published === undefined ? parseRules(NO_RULES) : parseKnown(published);
}

const NO_RULES = { version: 1, rules: [] };

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}

function conflict(seen: string): ServerError {
  return new ServerError("SLUICE_CONFLICT", seen);
}
