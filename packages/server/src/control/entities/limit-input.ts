// Limits as plans and overrides have them: written as in a rule file, checked by the same parser, kept as written.

import { parseRules, RulesError } from "sluice/rules";
import { anything, as, type Shape } from "sluice/shapes";

/** A limit, a list of limits or `unlimited`, as it was written. */
export type LimitInput = NonNullable<unknown>;

/** The words of the parser for where the limit stands, which are not the reader's. */
const PLACE = /^rule "\w+": tiers\.given/;

/** What may stand for a limit in a rule file. */
export const limitInput: Shape<LimitInput> = {
  ...as(anything({ description: "A limit as in a rule file: `100/minute`." }), (value, spot) => {
    const problem = findProblem(value);
    return problem === undefined ? (value as LimitInput) : spot.say(problem);
  }),
  what: "a limit such as 100/minute, a list of limits, or unlimited",
};

function findProblem(value: unknown): string | undefined {
  try {
    const rule = { id: "limit", limit: "1/second", tiers: { given: value } };
    parseRules({ version: 1, rules: [rule] });
    return undefined;
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    return error.problems.map(({ message }) => message.replace(PLACE, "").trim()).join("; ");
  }
}
