// Names of routes, classes and groups as ids of rules: characters that an id can't have are replaced, long names
// are cut, and a hash keeps the results distinct.

import { spreadHash } from "../../base/spread-hash.js";
import { RULE_ID_LENGTH_MAX } from "../../rules/parse/rule-fields/names.js";

const NOT_IN_IDS = /[^A-Za-z0-9_.-]+/g;

/** The rule id for a name: the name itself, if it is a valid id. The same name has the same id everywhere. */
export function toRuleId(text: string): string {
  const plain = text.replace(NOT_IN_IDS, "-");
  if (plain === text && text.length <= RULE_ID_LENGTH_MAX) return text;
  const hash = `-${spreadHash(text).toString(36)}`;
  return plain.slice(0, RULE_ID_LENGTH_MAX - hash.length) + hash;
}
