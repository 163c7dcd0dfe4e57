// Names of routes, classes and groups as ids of rules: what no id can have is written otherwise, what is
// too long is cut, and a hash keeps apart what would meet by that.

import { spreadHash } from "../../base/spread-hash.js";
import { RULE_ID_LENGTH_MAX } from "../../rules/parse/names.js";

const NOT_IN_IDS = /[^A-Za-z0-9_.-]+/g;

/** The id of a rule for a text: the text itself, if it is one. The same text has the same id everywhere. */
export function toRuleId(text: string): string {
  const plain = text.replace(NOT_IN_IDS, "-");
  if (plain === text && text.length <= RULE_ID_LENGTH_MAX) return text;
  const hash = `-${spreadHash(text).toString(36)}`;
  return plain.slice(0, RULE_ID_LENGTH_MAX - hash.length) + hash;
}
