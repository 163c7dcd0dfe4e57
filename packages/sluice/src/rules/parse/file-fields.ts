// The fields of a file of rules.

import {
  anyString,
  as,
  either,
  flag,
  listOf,
  object,
  optional,
  required,
  type Shape,
  wholeNumber,
  withDefault,
} from "../../base/shapes/shapes.js";
import type { Rule } from "../rule.js";
import { isPreset, loginPreset } from "./rule-fields/login-preset.js";
import { exemptFields } from "./rule-fields/rule-fields.js";
import { rule } from "./to-rule.js";

/** The most rules of a set. */
const RULES_MAX = 20_000;
/** Fewer bits than a provider has would count strangers as one. */
const IPV6_PREFIX = { min: 32, max: 128 };
const VERSIONS = [1] as const;

const schemaVersion: Shape<number> = {
  what: `a known version (${VERSIONS.join(", ")})`,
  schema: { enum: VERSIONS },
  read: (value, spot) =>
    VERSIONS.find((version) => version === value) ?? spot.refuse(schemaVersion.what, value),
};

const ruleOrPreset: Shape<readonly Rule[]> = either("a rule or a preset", [
  { fits: isPreset, shape: loginPreset(rule) },
  { fits: () => true, shape: as(rule, (one) => [one]) },
]);

/** A file. */
export const fileFields = object({
  $schema: optional(anyString(1_024), "For editors of JSON: where this schema is."),
  version: required(schemaVersion, "The version of this format: 1."),
  enabled: withDefault(
    flag,
    true,
    "The kill switch: false lets every request pass and counts nothing.",
  ),
  ipv6Prefix: withDefault(
    wholeNumber(IPV6_PREFIX),
    64,
    "How many bits of an IPv6 address identify one client.",
  ),
  exempt: optional(exemptFields, "Callers that no rule counts."),
  rules: required(
    listOf(ruleOrPreset, { countMin: 0, countMax: RULES_MAX }),
    "The rules, and presets that stand for several; on a tie, the first one listed binds.",
  ),
});
