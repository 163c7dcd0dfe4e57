// Numbers in a JSON body as a file writes them: `usage.total_tokens`, alternatives as `max_completion_tokens | max_tokens`,
// and a list of either, which is added up.

import { as, oneOrMany, type Shape, stringFor } from "../../../base/shapes/shapes.js";
import type { JsonPath, JsonSum, JsonTerm } from "../../rule.js";

const TERMS_MAX = 8;
const ALTERNATIVES_MAX = 4;
const SEGMENTS_MAX = 8;
const TERM_LENGTH_MAX = 256;
// One name of a path: neither a dot nor a bar, which divide paths, nor white space.
const NAME = "[^.|\\s]+";
const PATH = `${NAME}(\\.${NAME}){0,${SEGMENTS_MAX - 1}}`;
const TERM = `^${PATH}( *\\| *${PATH}){0,${ALTERNATIVES_MAX - 1}}$`;
const IS_TERM = new RegExp(TERM);

const term: Shape<JsonTerm> = stringFor({
  what: `a path such as usage.total_tokens (up to ${SEGMENTS_MAX} names), or up to ${ALTERNATIVES_MAX} paths divided by |`,
  pattern: TERM,
  lengthMax: TERM_LENGTH_MAX,
  toValue: (text) => (IS_TERM.test(text) ? text.split("|").map(toPath) : undefined),
});

function toPath(text: string): JsonPath {
  return text.trim().split(".");
}

/** Where a number is in a JSON body: one term, or several that are added up. */
export const jsonSum: Shape<JsonSum> = as(
  oneOrMany(term, { countMax: TERMS_MAX }),
  (terms, spot) => {
    const paths = terms.flat().map((path) => path.join("."));
    const repeated = paths.find((path, i) => paths.indexOf(path) !== i);
    return repeated === undefined ? terms : spot.say(`names ${repeated} twice`);
  },
);
