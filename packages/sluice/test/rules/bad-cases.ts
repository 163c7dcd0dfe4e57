// Files of rules that can't be used, and exactly what is said of each. The first rule of a case stands
// on line 3 of its file unless the case is a whole file.

/** A bad file and what is said of it. */
export interface BadRules {
  readonly what: string;
  /** The whole text. */
  readonly text: string;
  /** The problems with their places. */
  readonly problems: readonly string[];
  /** Whether a JSON Schema can see it too: what fields say together it can't. */
  readonly isStructural: boolean;
}

const HEAD = "version: 1\nrules:\n";

/** A file with one rule, whose fields are the lines given. */
function rule(lines: string): string {
  return `${HEAD}  - id: login\n${lines
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n")}\n`;
}

function structural(what: string, text: string, ...problems: string[]): BadRules {
  return { what, text, problems, isStructural: true };
}

function together(what: string, text: string, ...problems: string[]): BadRules {
  return { what, text, problems, isStructural: false };
}

const UNITS_MAX = 2 ** 51;
const LIMITS =
  "a rate such as 100/minute or 100/5m, or an object with one of tokenBucket, leakyBucket, fixedWindow, slidingWindowCounter, slidingWindowLog, concurrency, quota, sketch";
const DURATION = (max: number) =>
  `a whole number of milliseconds from 1 to ${max} or a string such as 500ms, 10s, 5m, 1h or 7d`;
const RULE_FIELDS =
  "id, enabled, match, key, onMissing, limit, tiers, overrides, cost, settle, when, onExceed, passUnits, delayMsMax, escalate, rollout, consistency, across, durable, onStoreFailure, timeoutMs, priority, requestPriority, expose, shards, exempt, windowJitter";

const bucket = "limit: { tokenBucket: { capacity: 10, refillPerSecond: 1 } }";

const monthly = "limit: { quota: { limit: 1000, period: month } }";

/** All cases. */
export const badRules: readonly BadRules[] = [
  // The file itself.
  structural(
    "an empty file",
    "",
    "must be an object with $schema, version, enabled, ipv6Prefix, exempt, rules, got null (sluice.yaml:1)",
  ),
  structural(
    "a list",
    "- 1\n",
    "must be an object with $schema, version, enabled, ipv6Prefix, exempt, rules, got [1] (sluice.yaml:1)",
  ),
  structural(
    "no version",
    "rules: []\n",
    "version is missing; it must be a known version (1) (sluice.yaml:1)",
  ),
  structural(
    "a version from the future",
    "\nversion: 2\nrules: []\n",
    "version must be a known version (1), got 2 (sluice.yaml:2)",
  ),
  structural(
    "no rules",
    "version: 1\n",
    "rules is missing; it must be a list of 0 to 20000 items (sluice.yaml:1)",
  ),
  structural(
    "rules that are not a list",
    "version: 1\nrules: { a: 1 }\n",
    'rules must be a list of 0 to 20000 items, got {"a":1} (sluice.yaml:2)',
  ),
  structural(
    "a switch that is not a boolean",
    "version: 1\nenabled: off\nrules: []\n",
    'enabled must be true or false, got "off" (sluice.yaml:2)',
  ),
  structural(
    "a prefix that would count strangers as one",
    "version: 1\nipv6Prefix: 8\nrules: []\n",
    "ipv6Prefix must be a whole number from 32 to 128, got 8 (sluice.yaml:2)",
  ),
  structural(
    "an unknown field",
    "version: 1\nrule: []\nrules: []\n",
    "rule is unknown, did you mean rules? known: $schema, version, enabled, ipv6Prefix, exempt, rules (sluice.yaml:2)",
  ),
  together(
    "an invalid exempt range",
    "version: 1\nexempt:\n  ips:\n    - 10.0.0.0/8\n    - 10.0.0.300\nrules: []\n",
    'exempt.ips[1] needs ranges such as 10.0.0.0/8, 2001:db8::/32 or loopback, got "10.0.0.300" (sluice.yaml:5)',
  ),
  together(
    "an invalid exempt key",
    "version: 1\nexempt: { keys: [bob] }\nrules: []\n",
    'exempt.keys[0] must be a key such as user:42 or tenant:acme|user:42, got "bob" (sluice.yaml:2)',
  ),
  // Ids.
  structural(
    "a rule without id",
    `${HEAD}  - limit: 1/second\n`,
    "rules[0]: id is missing; it must be 1 to 64 letters, digits, _, - or . (sluice.yaml:3)",
  ),
  structural(
    "an id with a blank",
    `${HEAD}  - id: log in\n    limit: 1/second\n`,
    'rule "log in": id must be 1 to 64 letters, digits, _, - or ., got "log in" (sluice.yaml:3)',
  ),
  structural(
    "an id that is a number",
    `${HEAD}  - id: 42\n    limit: 1/second\n`,
    "rules[0]: id must be 1 to 64 letters, digits, _, - or ., got 42 (sluice.yaml:3)",
  ),
  together(
    "the same id twice",
    `${HEAD}  - { id: a, limit: 1/second }\n  - { id: b, limit: 1/second }\n  - { id: a, limit: 1/minute }\n`,
    'rule "a": has the id of an earlier rule (sluice.yaml:3) (sluice.yaml:5)',
  ),
  structural(
    "a rule that is a text",
    `${HEAD}  - login\n`,
    `rules[0]: must be an object with ${RULE_FIELDS}, got "login" (sluice.yaml:3)`,
  ),
  // Limits.
  structural(
    "no limit",
    rule("key: ip"),
    `rule "login": limit is missing; it must be ${LIMITS}, or unlimited (sluice.yaml:3)`,
  ),
  structural(
    "a misspelt limit",
    rule("limt: 1/second"),
    `rule "login": limt is unknown, did you mean limit? known: ${RULE_FIELDS} (sluice.yaml:4)`,
    `rule "login": limit is missing; it must be ${LIMITS}, or unlimited (sluice.yaml:3)`,
  ),
  structural(
    "a limit that is a number",
    rule("limit: 100"),
    `rule "login": limit must be ${LIMITS}, got 100 (sluice.yaml:4)`,
  ),
  structural(
    "a limit that is left empty",
    rule("limit:\nkey: ip"),
    `rule "login": limit must be ${LIMITS}, got null (sluice.yaml:4)`,
  ),
  structural(
    "an empty list of limits",
    rule("limit: []"),
    'rule "login": limit must be a list of 1 to 8 items, got 0 (sluice.yaml:4)',
  ),
  structural(
    "a rate per something else",
    rule("limit: 100/fortnight"),
    'rule "login": limit must be a rate such as 100/minute or 100/5m, got "100/fortnight" (sluice.yaml:4)',
  ),
  together(
    "a rate of nothing",
    rule("limit: 0/second"),
    'rule "login": limit must be a rate such as 100/minute or 100/5m, got "0/second" (sluice.yaml:4)',
  ),
  structural(
    "two algorithms in one limit",
    rule(
      "limit:\n  fixedWindow: { limit: 1, windowMs: 1s }\n  concurrency: { limit: 1, permitMs: 1s }",
    ),
    'rule "login": limit must be exactly one of tokenBucket, leakyBucket, fixedWindow, slidingWindowCounter, slidingWindowLog, concurrency, quota, sketch, got {"fixedWindow":{"limit":1,"windowMs":"1s"},"concurrency":{"limit":1,"permitMs":"… (sluice.yaml:4)',
  ),
  structural(
    "an unknown algorithm",
    rule("limit: { tokenbucket: { capacity: 1 } }"),
    'rule "login": limit.tokenbucket is unknown, did you mean tokenBucket? known: tokenBucket, leakyBucket, fixedWindow, slidingWindowCounter, slidingWindowLog, concurrency, quota, sketch (sluice.yaml:4)',
  ),
  structural(
    "a capacity that is a word",
    rule("limit:\n  tokenBucket:\n    refillPerSecond: 1\n    capacity: ten"),
    `rule "login": limit.tokenBucket.capacity must be a whole number from 1 to ${UNITS_MAX}, got "ten" (sluice.yaml:7)`,
  ),
  structural(
    "a number in quotes",
    rule('limit: { tokenBucket: { capacity: "10", refillPerSecond: 1 } }'),
    `rule "login": limit.tokenBucket.capacity must be a whole number from 1 to ${UNITS_MAX}, got "10" (sluice.yaml:4)`,
  ),
  structural(
    "a bucket without a rate",
    rule("limit: { tokenBucket: { capacity: 10 } }"),
    'rule "login": limit.tokenBucket needs either refillPerSecond or refill, got {"capacity":10} (sluice.yaml:4)',
  ),
  structural(
    "a bucket with two rates",
    rule(
      "limit: { tokenBucket: { capacity: 1, refillPerSecond: 1, refill: { amount: 1, everyMs: 1s } } }",
    ),
    'rule "login": limit.tokenBucket needs either refillPerSecond or refill, got {"capacity":1,"refillPerSecond":1,"refill":{"amount":1,"everyMs":1000}} (sluice.yaml:4)',
  ),
  structural(
    "a rate of zero",
    rule("limit: { leakyBucket: { ratePerSecond: 0, queueSize: 1 } }"),
    'rule "login": limit.leakyBucket.ratePerSecond must be a positive number, got 0 (sluice.yaml:4)',
  ),
  together(
    "a rate that can't be counted",
    rule("limit: { tokenBucket: { capacity: 5, refillPerSecond: 1.0e-300 } }"),
    `rule "login": limit.tokenBucket.refillPerSecond can't be counted exactly, got 1e-300 (sluice.yaml:4)`,
  ),
  structural(
    "a window in weeks",
    rule("limit: { fixedWindow: { limit: 1, windowMs: 2w } }"),
    `rule "login": limit.fixedWindow.windowMs must be ${DURATION(31_622_400_000)}, got "2w" (sluice.yaml:4)`,
  ),
  together(
    "a window of more than a year",
    rule("limit: { fixedWindow: { limit: 1, windowMs: 367d } }"),
    `rule "login": limit.fixedWindow.windowMs must be ${DURATION(31_622_400_000)}, got "367d" (sluice.yaml:4)`,
  ),
  together(
    "an invalid time zone",
    rule("limit:\n  quota:\n    limit: 1\n    period: day\n    timeZone: Mars/Olympus"),
    'rule "login": limit.quota.timeZone must be an IANA time zone, got "Mars/Olympus" (sluice.yaml:8)',
  ),
  together(
    "a month that begins on day 0",
    rule("limit: { quota: { limit: 1, period: month, anchor: 0 } }"),
    'rule "login": limit.quota.anchor must be a day of the month from 1 to 31 or a local date like "2024-01-31T09:30", got 0 (sluice.yaml:4)',
  ),
  structural(
    "an unknown period",
    rule("limit: { quota: { limit: 1, period: year } }"),
    'rule "login": limit.quota.period must be one of day, week, month, got "year" (sluice.yaml:4)',
  ),
  together(
    "the same limit twice",
    rule("limit: [5/minute, 5/minute]"),
    'rule "login": limit holds the same limit twice (sluice.yaml:4)',
  ),
  structural(
    "the second of two limits is bad",
    rule("limit:\n  - 5/minute\n  - { concurrency: { limit: 0, permitMs: 1s } }"),
    `rule "login": limit[1].concurrency.limit must be a whole number from 1 to ${UNITS_MAX}, got 0 (sluice.yaml:6)`,
  ),
  together(
    "no limit for any caller",
    rule("limit: unlimited"),
    'rule "login": limit is unlimited, and no tier or override limits anything (sluice.yaml:4)',
  ),
  structural(
    "a tier with a bad limit",
    rule("limit: 1/second\ntiers:\n  pro: { slidingWindowLog: { limit: -1, windowMs: 1s } }"),
    `rule "login": tiers.pro.slidingWindowLog.limit must be a whole number from 1 to ${UNITS_MAX}, got -1 (sluice.yaml:6)`,
  ),
  structural(
    "no tiers at all",
    rule("limit: 1/second\ntiers: {}"),
    'rule "login": tiers must have 1 to 64 entries, got 0 (sluice.yaml:5)',
  ),
  // Keys.
  structural(
    "an unknown dimension",
    rule("limit: 1/second\nkey: session"),
    'rule "login": key must be one of user, apiKey, tenant, ip, asn, country, fingerprint, endpoint, global, ipPrefix, ipPrefix/24, ipPrefix:24/48, header:name, cookie:name, body:name, attribute:name, got "session" (sluice.yaml:5)',
  ),
  together(
    "a subnet of more bits than there are",
    rule("limit: 1/second\nkey: [user, subnet:33/48]"),
    'rule "login": key[1] must be one of user, apiKey, tenant, ip, asn, country, fingerprint, endpoint, global, ipPrefix, ipPrefix/24, ipPrefix:24/48, header:name, cookie:name, body:name, attribute:name, got "subnet:33/48" (sluice.yaml:5)',
  ),
  together(
    "a header whose name can't be one",
    rule('limit: 1/second\nkey: "header:x y"'),
    'rule "login": key must be one of user, apiKey, tenant, ip, asn, country, fingerprint, endpoint, global, ipPrefix, ipPrefix/24, ipPrefix:24/48, header:name, cookie:name, body:name, attribute:name, got "header:x y" (sluice.yaml:5)',
  ),
  together(
    "a dimension twice",
    rule("limit: 1/second\nkey: [ip, user, ip]"),
    'rule "login": key names ip twice (sluice.yaml:5)',
  ),
  structural(
    "another way of missing",
    rule("limit: 1/second\nonMissing: allow"),
    'rule "login": onMissing must be one of ip, skip, refuse, got "allow" (sluice.yaml:5)',
  ),
  together(
    "an override of a key that the rule never counts",
    rule('limit: 1/second\nkey: [tenant, user]\noverrides:\n  "user:42": 5/second'),
    'rule "login": overrides["user:42"] is not a key of this rule, whose keys are written tenant:…|user:… (sluice.yaml:7)',
  ),
  together(
    "one key in two notations",
    rule(
      'limit: 1/second\noverrides:\n  "ip:203.0.113.7": 5/second\n  "ip:::ffff:203.0.113.7": 6/second',
    ),
    'rule "login": overrides["ip:::ffff:203.0.113.7"] is the key ip:203.0.113.7 once more (sluice.yaml:7)',
  ),
  together(
    "an exempt key that the rule never counts",
    rule("limit: 1/second\nkey: user\nonMissing: skip\nexempt: { keys: [ip:203.0.113.7] }"),
    'rule "login": exempt.keys[0] is not a key of this rule, whose keys are written user:… (sluice.yaml:7)',
  ),
  together(
    "a range with bits behind its prefix",
    rule("limit: 1/second\nexempt:\n  ips: [10.0.0.1/8]"),
    'rule "login": exempt.ips[0] "10.0.0.1/8" has bits behind its prefix: 10.0.0.0/8 or 10.0.0.1 was meant (sluice.yaml:6)',
  ),
  // Match.
  structural(
    "a path without its slash",
    rule("limit: 1/second\nmatch: { path: login }"),
    'rule "login": match.path must be a string that starts with /, got "login" (sluice.yaml:5)',
  ),
  structural(
    "a path with a query",
    rule('limit: 1/second\nmatch: { path: "/a?b=1" }'),
    'rule "login": match.path can\'t contain ? # ; or \\, got "/a?b=1" (sluice.yaml:5)',
  ),
  together(
    "a wildcard inside a segment",
    rule("limit: 1/second\nmatch:\n  path:\n    - /ok\n    - /img-*/x"),
    'rule "login": match.path[1] has "img-*": a segment is a word, :name or *, and %3A or %2A where : or * is meant, got "/img-*/x" (sluice.yaml:8)',
  ),
  together(
    "a path of too many segments",
    rule(`limit: 1/second\nmatch: { path: ${"/a".repeat(33)} }`),
    `rule "login": match.path can't have more than 32 segments, got "${"/a".repeat(33)}" (sluice.yaml:5)`,
  ),
  together(
    "methods that are misspelt, beside others that are not known",
    rule("limit: 1/second\nmatch: { methods: [PSOT, gett, PURGE, SUBSCRIBE, X-OWN] }"),
    'rule "login": match.methods[0] must be a method, got "PSOT"; did you mean POST? (sluice.yaml:5)',
    'rule "login": match.methods[1] must be a method, got "gett"; did you mean GET? (sluice.yaml:5)',
  ),
  structural(
    "a method with a blank",
    rule('limit: 1/second\nmatch: { methods: ["GET POST"] }'),
    'rule "login": match.methods[0] must be a method such as GET, got "GET POST" (sluice.yaml:5)',
  ),
  structural(
    "a host with a port",
    rule("limit: 1/second\nmatch: { host: api.example.com:8080 }"),
    'rule "login": match.host must be a host without a port, such as api.example.com or *.example.com, got "api.example.com:8080" (sluice.yaml:5)',
  ),
  structural(
    "a host with a wildcard inside",
    rule("limit: 1/second\nmatch: { host: api.*.com }"),
    'rule "login": match.host must be a host without a port, such as api.example.com or *.example.com, got "api.*.com" (sluice.yaml:5)',
  ),
  structural(
    "a header that must not be there",
    rule("limit: 1/second\nmatch: { headers: { x-debug: false } }"),
    'rule "login": match.headers.x-debug must be true, a value or a list of values, got false (sluice.yaml:5)',
  ),
  structural(
    "a header whose name has a blank",
    rule('limit: 1/second\nmatch: { headers: { "x debug": a } }'),
    'rule "login": match.headers["x debug"] must be the name of a header, got "x debug" (sluice.yaml:5)',
  ),
  together(
    "a header in two cases",
    rule("limit: 1/second\nmatch: { headers: { x-a: b, X-A: c } }"),
    'rule "login": match.headers.X-A occurs twice, as x-a (sluice.yaml:5)',
  ),
  // Costs.
  structural(
    "a negative cost",
    rule("limit: 1/second\ncost: -1"),
    `rule "login": cost must be a whole number from 0 to ${UNITS_MAX}, got -1 (sluice.yaml:5)`,
  ),
  structural(
    "a cost by nothing",
    rule("limit: 1/second\ncost: { otherwise: 1 }"),
    'rule "login": cost must be a number or an object with methods, header, json or function, got {"otherwise":1} (sluice.yaml:5)',
  ),
  structural(
    "a cost that clients choose without bound",
    rule("limit: 1/second\ncost: { header: x-cost }"),
    `rule "login": cost.max is missing; it must be a whole number from 0 to ${UNITS_MAX} (sluice.yaml:5)`,
  ),
  together(
    "a cost whose bounds are swapped",
    rule("limit: 1/second\ncost: { header: x-cost, min: 5, max: 1 }"),
    'rule "login": cost min 5 is above max 1 (sluice.yaml:5)',
  ),
  together(
    "a cost that never fits",
    rule("limit: [5/minute, 100/hour]\ncost: 6"),
    'rule "login": cost is 6, which a slidingWindowLog of 5 units never admits (sluice.yaml:5)',
  ),
  together(
    "a cost of nothing",
    rule("limit: 1/second\ncost: 0"),
    'rule "login": cost is 0, so nothing would ever be counted; a cost of 0 needs settle (sluice.yaml:5)',
  ),
  structural(
    "a cost by JSON that clients choose without bound",
    rule("limit: 1/second\ncost: { json: max_tokens }"),
    `rule "login": cost.max is missing; it must be a whole number from 0 to ${UNITS_MAX} (sluice.yaml:5)`,
  ),
  structural(
    "a path in JSON with an empty name",
    rule("limit: 1/second\nsettle: { json: usage..total }"),
    'rule "login": settle.json must be a path such as usage.total_tokens (up to 8 names), or up to 4 paths divided by |, got "usage..total" (sluice.yaml:5)',
  ),
  together(
    "a path in JSON twice",
    rule("limit: 1/second\nsettle: { json: [a.b | c, a.b] }"),
    'rule "login": settle.json names a.b twice (sluice.yaml:5)',
  ),
  structural(
    "an unknown end of a response that was cut short",
    rule("limit: 1/second\nsettle: { json: a, onAbort: free }"),
    'rule "login": settle.onAbort must be one of estimated, seen, got "free" (sluice.yaml:5)',
  ),
  structural(
    "an unknown settlement",
    rule("limit: 1/second\nsettle: tokens"),
    'rule "login": settle must be one of code, bytes, got "tokens" (sluice.yaml:5)',
  ),
  structural(
    "an invalid status",
    rule("limit: 1/second\nwhen: { status: [401, 700] }"),
    'rule "login": when.status[1] must be a whole number from 100 to 599, got 700 (sluice.yaml:5)',
  ),
  structural(
    "an invalid class",
    rule("limit: 1/second\nwhen: { status: 6xx }"),
    'rule "login": when.status must be one of 1xx, 2xx, 3xx, 4xx, 5xx, got "6xx" (sluice.yaml:5)',
  ),
  structural(
    "both kinds of when",
    rule("limit: 1/second\nwhen: { status: 401, statusNot: 304 }"),
    'rule "login": when needs either status or statusNot (sluice.yaml:5)',
  ),
  // Behaviour.
  structural(
    "a longest wait above a minute",
    rule(`${bucket}\nonExceed: delay\ndelayMsMax: 61000`),
    `rule "login": delayMsMax must be ${DURATION(60_000)}, got 61000 (sluice.yaml:6)`,
  ),
  together(
    "a delay without bound",
    rule(`${bucket}\nonExceed: delay`),
    'rule "login": onExceed is delay, which needs delayMsMax (sluice.yaml:5)',
  ),
  together(
    "a bound without delay",
    rule(`${bucket}\ndelayMsMax: 1s`),
    'rule "login": delayMsMax needs onExceed: delay (sluice.yaml:5)',
  ),
  together(
    "a delay on a window",
    rule("limit: 5/minute\nonExceed: delay\ndelayMsMax: 1s"),
    'rule "login": limit is a slidingWindowLog, which has no queue to wait in; onExceed: delay needs a tokenBucket (sluice.yaml:4)',
  ),
  together(
    "a delay on a shaper",
    rule(
      "limit: { leakyBucket: { ratePerSecond: 1, queueSize: 1 } }\nonExceed: delay\ndelayMsMax: 1s",
    ),
    'rule "login": limit is a leakyBucket, which delays by itself; onExceed: delay needs a tokenBucket (sluice.yaml:4)',
  ),
  together(
    "a delay on leases",
    rule(`${bucket}\nonExceed: delay\ndelayMsMax: 1s\nconsistency: leased`),
    'rule "login": onExceed is delay, which needs consistency strict or local, got leased (sluice.yaml:5)',
  ),
  together(
    "a delay on shards",
    rule(`${bucket}\nkey: global\nonExceed: delay\ndelayMsMax: 1s\nshards: 2`),
    'rule "login": onExceed is delay, which can\'t be split into shards (sluice.yaml:6)',
  ),
  together(
    "a challenge for permits",
    rule("limit: { concurrency: { limit: 1, permitMs: 1s } }\nonExceed: challenge"),
    'rule "login": limit is a concurrency limit, which a pass can\'t give back; use onExceed: reject (sluice.yaml:4)',
  ),
  together(
    "a challenge on a shaper",
    rule("limit: { leakyBucket: { ratePerSecond: 1, queueSize: 1 } }\nonExceed: challenge"),
    'rule "login": limit is a leakyBucket that shapes, which a pass can\'t give back; use onExceed: reject (sluice.yaml:4)',
  ),
  together(
    "a challenge for all callers together",
    rule(`${bucket}\nkey: global\nonExceed: challenge`),
    'rule "login": onExceed is challenge, but key is global: the pass of one caller would lift the limit of all (sluice.yaml:6)',
  ),
  together(
    "units of a pass without a challenge",
    rule(`${bucket}\npassUnits: 1`),
    'rule "login": passUnits needs onExceed: challenge (sluice.yaml:5)',
  ),
  together(
    "a pass that is worth less than a request",
    rule(`${bucket}\ncost: 2\nonExceed: challenge\npassUnits: 1`),
    'rule "login": passUnits is 1, less than the 2 units that a request costs (sluice.yaml:7)',
  ),
  together(
    "a challenge for a durable quota",
    rule(`${monthly}\ndurable: true\nonExceed: challenge`),
    'rule "login": onExceed is challenge, but a durable quota is not given back (sluice.yaml:6)',
  ),
  structural(
    "more than all",
    rule("limit: 1/second\nrollout: 101"),
    'rule "login": rollout must be a number from 0 to 100, got 101 (sluice.yaml:5)',
  ),
  together(
    "a durable rule that is not about quotas",
    rule(
      "limit: 1000/day\ntiers: { pro: 2000/day }\noverrides: { ip:1.2.3.4: 9/day }\ndurable: true",
    ),
    'rule "login": limit is a slidingWindowCounter; a durable rule has quotas only, such as { quota: { limit: 1000, period: month } } (sluice.yaml:4)',
    'rule "login": tiers.pro is a slidingWindowCounter; a durable rule has quotas only, such as { quota: { limit: 2000, period: month } } (sluice.yaml:5)',
    'rule "login": overrides["ip:1.2.3.4"] is a slidingWindowLog; a durable rule has quotas only, such as { quota: { limit: 9, period: month } } (sluice.yaml:6)',
  ),
  together(
    "a durable rule that is eventual",
    rule(`${monthly}\ndurable: true\nconsistency: eventual`),
    'rule "login": consistency is eventual, which a durable rule can\'t be: a ledger is never behind; use strict or leased (sluice.yaml:6)',
  ),
  together(
    "a durable rule that is local and split",
    rule(`${monthly}\nkey: tenant\ndurable: true\nconsistency: local\nshards: 2`),
    'rule "login": consistency is local, which a durable rule can\'t be: a ledger is never behind; use strict or leased (sluice.yaml:7)',
    'rule "login": shards can\'t split a durable rule: a ledger has one account (sluice.yaml:8)',
  ),
  together(
    "a durable rule that delays",
    rule(`${monthly}\ndurable: true\nonExceed: delay\ndelayMsMax: 1s`),
    'rule "login": limit is a quota, which has no queue to wait in; onExceed: delay needs a tokenBucket (sluice.yaml:4)',
  ),
  together(
    "a header without a percentage",
    rule(`${monthly}\ndurable: { alertAt: [], header: true }`),
    'rule "login": durable.header has nothing to show without a percentage in alertAt (sluice.yaml:5)',
  ),
  structural(
    "durable options that are unknown or out of bounds",
    rule(`${monthly}\ndurable:\n  carryOver: -1\n  alertAt: [80, 120%, 0]\n  carry: 5`),
    'rule "login": durable.carry is unknown; known: carryOver, alertAt, header (sluice.yaml:8)',
    `rule "login": durable.carryOver must be a whole number from 0 to ${UNITS_MAX}, got -1 (sluice.yaml:6)`,
    'rule "login": durable.alertAt[1] must be a percentage such as 80%, got "120%" (sluice.yaml:7)',
    'rule "login": durable.alertAt[2] must be a whole number from 1 to 100, got 0 (sluice.yaml:7)',
  ),
  structural(
    "a durable rule that is named",
    rule(`${monthly}\ndurable: ledger`),
    'rule "login": durable must be true, false or an object with options, got "ledger" (sluice.yaml:5)',
  ),
  together(
    "a quota that is pro-rated by no ledger",
    rule("limit: { quota: { limit: 10, period: month, prorate: true } }"),
    'rule "login": limit.quota.prorate needs a durable rule: add durable: true to it (sluice.yaml:4)',
  ),
  structural(
    "an unknown consistency",
    rule("limit: 1/second\nconsistency: exact"),
    'rule "login": consistency must be one of strict, leased, eventual, local, got "exact" (sluice.yaml:5)',
  ),
  together(
    "leased permits",
    rule("limit: { concurrency: { limit: 5, permitMs: 1m } }\nconsistency: leased"),
    'rule "login": limit is a concurrency limit, which can\'t be leased; use consistency: strict or local (sluice.yaml:4)',
  ),
  together(
    "an eventual shaper in a tier",
    rule(
      "limit: 1/second\nconsistency: eventual\ntiers:\n  pro: { leakyBucket: { ratePerSecond: 1, queueSize: 1 } }",
    ),
    'rule "login": tiers.pro is a leakyBucket that shapes, which can\'t be eventual; use consistency: strict or local (sluice.yaml:7)',
  ),
  structural(
    "an unknown policy",
    rule("limit: 1/second\nonStoreFailure: deny"),
    'rule "login": onStoreFailure must be one of open, closed, local, throw, got "deny" (sluice.yaml:5)',
  ),
  structural(
    "no time for the store",
    rule("limit: 1/second\ntimeoutMs: 0"),
    `rule "login": timeoutMs must be ${DURATION(60_000)}, got 0 (sluice.yaml:5)`,
  ),
  structural(
    "a priority that is a word",
    rule("limit: 1/second\npriority: high"),
    'rule "login": priority must be a whole number from -1000000 to 1000000, got "high" (sluice.yaml:5)',
  ),
  structural(
    "too many shards",
    rule("limit: 5000/second\nkey: global\nshards: 2000"),
    'rule "login": shards must be a whole number from 1 to 1024, got 2000 (sluice.yaml:6)',
  ),
  together(
    "shards of a caller's own key",
    rule("limit: 100/second\nkey: user\nshards: 4"),
    'rule "login": shards can\'t split a key by user, whose caller would only ever meet one of the shards; use them for keys that many share (sluice.yaml:6)',
  ),
  together(
    "more shards than units",
    rule("limit: 3/second\nkey: global\nshards: 4"),
    'rule "login": limit has 3 units, too few for 4 shards of at least 1 each (sluice.yaml:4)',
  ),
  together(
    "a cost that no shard admits",
    rule("limit: 10/second\nkey: global\ncost: 5\nshards: 4"),
    'rule "login": limit has 10 units, too few for 4 shards of at least 5 each (sluice.yaml:4)',
  ),
  together(
    "jitter and shards",
    rule(
      "limit: { fixedWindow: { limit: 100, windowMs: 1m } }\nkey: global\nwindowJitter: true\nshards: 4",
    ),
    'rule "login": limit is aligned by key, which can\'t be split into shards (sluice.yaml:4)',
  ),
  together(
    "windows that start with the first request, split into shards",
    rule(
      "limit: { fixedWindow: { limit: 100, windowMs: 1m, align: first } }\nkey: global\nshards: 4",
    ),
    'rule "login": limit starts with the first request, which can\'t be split into shards (sluice.yaml:4)',
  ),
  together(
    "jitter without windows",
    rule("limit: 1/second\nwindowJitter: true"),
    'rule "login": windowJitter needs a fixedWindow; other limits have no common border (sluice.yaml:5)',
  ),
];
