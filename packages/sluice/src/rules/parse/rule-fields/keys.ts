// Keys that a file writes out, in overrides and exemptions, in the form in which they are counted.

import type { Spot } from "../../../base/shapes/shapes.js";
import { toPrefix } from "../../identity-keys/key.js";
import { toDimensions, toKeyText } from "../../identity-keys/written-key.js";
import type { Dimension, Rule } from "../../rule.js";
import { ruleReadingOf } from "../rule-reading.js";

const IP: readonly Dimension[] = [{ kind: "ip" }];

/** By what a rule counts: its key, and addresses where it falls back to them. */
export type Counting = Pick<Rule, "key" | "onMissing">;

/** The key as the rule counts it. One that it never counts is a problem. */
export function toRuleKey(
  text: string,
  { key, onMissing }: Counting,
  spot: Spot,
): string | undefined {
  const { ipv6Prefix } = ruleReadingOf(spot);
  const fits =
    toKeyText(key, text, { ipv6Prefix }) ??
    (onMissing === "ip" ? toKeyText(IP, text, { ipv6Prefix }) : undefined);
  if (fits !== undefined) return fits;
  const form = key.map((dimension) => toPrefix(dimension).replace(/:$/, ":…"));
  return spot.say(`is not a key of this rule, whose keys are written ${form.join("|")}`);
}

/** The key as any rule would count it. */
export function toAnyKey(text: string, spot: Spot): string | undefined {
  const dimensions = toDimensions(text);
  const { ipv6Prefix } = ruleReadingOf(spot);
  const fits = dimensions === undefined ? undefined : toKeyText(dimensions, text, { ipv6Prefix });
  return fits ?? spot.refuse("a key such as user:42 or tenant:acme|user:42", text);
}

/** The same map by keys as they are counted. Two ways of writing one key are a problem. */
export function withRuleKeys<T>(
  entries: ReadonlyMap<string, T>,
  counting: Counting,
  spot: Spot,
): ReadonlyMap<string, T> {
  const counted = new Map<string, T>();
  for (const [text, value] of entries) {
    const at = spot.in(text);
    const key = toRuleKey(text, counting, at);
    if (key === undefined) continue;
    if (counted.has(key)) at.say(`is the key ${key} once more`);
    counted.set(key, value);
  }
  return counted;
}
