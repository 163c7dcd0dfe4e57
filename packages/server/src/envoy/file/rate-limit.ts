// Reads `rate_limit`: a number of requests in a unit, or no limit at all; and under `sluice`, which envoyproxy/
// ratelimit would reject, any limit that a rule file may have, and `onStoreFailure`.

import type { FailurePolicy, Limit } from "sluice";
import { fixedWindow } from "sluice";
import { parseRules, type Rule, RulesError } from "sluice/rules";
import { type CurrentLimit, UINT32_MAX, UNIT_MS, UNIT_NAMES } from "../messages.js";
import type { YamlField, YamlSource } from "./source.js";

/** A limit of a file. */
export interface LimitConfig {
  /** `never`: not one request passes. */
  readonly kind: "counted" | "unlimited" | "never";
  /** The limit that is enforced; undefined unless `counted`. */
  readonly limit: Limit | undefined;
  /** How it is reported to Envoy. */
  readonly current: CurrentLimit;
  /** The names of limits that don't apply where this one does. */
  readonly replaces: readonly string[];
  /** Undefined: what the service does by default. */
  readonly onStoreFailure: FailurePolicy | undefined;
}

const NAME_LENGTH_MAX = 256;
const REPLACES_MAX = 1_000;

/** Reads the fields of a `rate_limit`. */
export function parseLimit(
  source: YamlSource,
  at: YamlField,
  fields: ReadonlyMap<string, YamlField>,
): LimitConfig | undefined {
  const name = source.text(fields.get("name")?.value, "name");
  if (name.length > NAME_LENGTH_MAX) {
    source.say(fields.get("name")?.at, `name is longer than ${NAME_LENGTH_MAX} characters`);
  }
  const replaces = parseReplaces(source, fields.get("replaces"), name);
  const ours = fields.get("sluice");
  const rule = ours === undefined ? undefined : parseOurs(source, ours);
  if (ours !== undefined && rule === undefined) return undefined;
  const own = rule?.limits[0];
  const onStoreFailure = rule?.onStoreFailure;
  if (own !== undefined) {
    refuseBoth(source, fields);
    return {
      kind: "counted",
      limit: own,
      current: describeLimit(own, name),
      replaces,
      onStoreFailure,
    };
  }
  return parseUnit(source, at, fields, { name, replaces, onStoreFailure });
}

function parseUnit(
  source: YamlSource,
  at: YamlField,
  fields: ReadonlyMap<string, YamlField>,
  others: Pick<LimitConfig, "replaces" | "onStoreFailure"> & { readonly name: string },
): LimitConfig | undefined {
  const { name, replaces, onStoreFailure } = others;
  const unitField = fields.get("unit");
  const written = source.text(unitField?.value, "unit").toUpperCase();
  const unit = Math.max(0, UNIT_NAMES.indexOf(written as (typeof UNIT_NAMES)[number]));
  const most = fields.get("requests_per_unit");
  const requestsPerUnit = source.whole(most?.value, "requests_per_unit", UINT32_MAX);
  const current = { requestsPerUnit, unit, name };
  if (source.truth(fields.get("unlimited")?.value, "unlimited")) {
    if (unit > 0) source.say(unitField?.at, "unit can't be set beside unlimited");
    return { kind: "unlimited", limit: undefined, current, replaces, onStoreFailure };
  }
  if (unit === 0) return sayUnit(source, unitField ?? at, written);
  if (requestsPerUnit === 0) {
    return { kind: "never", limit: undefined, current, replaces, onStoreFailure };
  }
  const limit = fixedWindow({ limit: requestsPerUnit, windowMs: UNIT_MS[unit] });
  return { kind: "counted", limit, current, replaces, onStoreFailure };
}

function sayUnit(source: YamlSource, at: YamlField, written: string): undefined {
  const units = UNIT_NAMES.slice(1).join(", ").toLowerCase();
  const seen = written === "" ? "is missing" : `is ${JSON.stringify(written.toLowerCase())}`;
  return source.say(at.at, `unit ${seen}; it must be one of ${units}`);
}

function parseReplaces(
  source: YamlSource,
  field: YamlField | undefined,
  name: string,
): readonly string[] {
  const items = source.items(field?.value, "replaces");
  if (items.length > REPLACES_MAX) {
    return source.say(field?.at, `replaces has more than ${REPLACES_MAX} names`) ?? [];
  }
  return items.flatMap((item) => {
    const replaced = source
      .fields(item, "an entry of replaces")
      .find((entry) => entry.name === "name" || source.say(entry.at, "replaces has only names"));
    const text = source.text(replaced?.value, "name");
    if (text === "") return source.say(item, "an entry of replaces has no name") ?? [];
    if (text === name) return source.say(item, "a limit can't replace itself") ?? [];
    return [text];
  });
}

/** A limit of ours, read as that of a rule, so that a file of rules and this one know the same. */
function parseOurs(source: YamlSource, { at, value }: YamlField): Rule | undefined {
  const given = source.plain(value);
  const isMap = typeof given === "object" && given !== null && !Array.isArray(given);
  const { onStoreFailure, ...rest } = isMap ? (given as Record<string, unknown>) : {};
  const hasLimit = !isMap || Object.keys(rest).length > 0;
  const limit = isMap ? rest : given;
  const rule = {
    id: "sluice",
    key: "global",
    limit: hasLimit ? limit : "1/second",
    ...(onStoreFailure === undefined ? {} : { onStoreFailure }),
  };
  try {
    const [parsed] = parseRules({ version: 1, rules: [rule] }).rules;
    return hasLimit ? mustBeUsable(source, at, parsed) : { ...parsed, limits: [] };
  } catch (error) {
    if (!(error instanceof RulesError)) throw error;
    for (const { message } of error.problems) {
      source.say(
        at,
        message.replace(/^rule "sluice": (limit\b)?/, (_, it) => (it ? "sluice" : "")),
      );
    }
    return undefined;
  }
}

/** Envoy reports no responses and does not delay requests. */
function mustBeUsable(source: YamlSource, at: YamlField["at"], rule: Rule): Rule | undefined {
  if (rule.limits.length !== 1) return source.say(at, "sluice must be one limit");
  const [limit] = rule.limits;
  if (limit.algorithm === "concurrency") {
    return source.say(
      at,
      "sluice.concurrency needs to see responses, which Envoy's rate limit service does not: write it as a rule of the gateway, under rules in the configuration",
    );
  }
  if (limit.algorithm === "sketch") {
    return source.say(
      at,
      "sluice.sketch is counted by rules only, not by Envoy's descriptors: write it as a rule, under rules in the configuration",
    );
  }
  if (limit.algorithm === "leakyBucket" && limit.mode === "shape") {
    return source.say(at, "sluice.leakyBucket would make requests wait; it needs mode: meter");
  }
  return rule;
}

function refuseBoth(source: YamlSource, fields: ReadonlyMap<string, YamlField>): void {
  for (const name of ["unit", "requests_per_unit", "unlimited"]) {
    const field = fields.get(name);
    if (field !== undefined)
      source.say(field.at, `${name} can't be set beside a limit under sluice`);
  }
}

/** A limit as it is reported to Envoy: the unit is unknown unless the window is just that long. */
function describeLimit(limit: Limit, name: string): CurrentLimit {
  const windowMs = "windowMs" in limit ? limit.windowMs : 0;
  const unit = windowMs === 0 ? 0 : Math.max(0, UNIT_MS.indexOf(windowMs));
  return { requestsPerUnit: Math.min(limit.capacity, UINT32_MAX), unit, name };
}
