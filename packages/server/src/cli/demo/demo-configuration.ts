// The configuration of the demo: what a small sluice.yaml looks like, in front of the built-in upstream.
// Each value can be changed by its environment variable, as in a file.

/** The rules of the demo, as a file of their own has them. */
export const DEMO_RULES = `version: 1
rules:
  # Against guessed passwords: five tries a minute for each address.
  - id: login
    match: { path: /login, methods: POST }
    key: ip
    limit: { slidingWindowLog: { limit: 5, windowMs: 1m } }
  # Everything else: a burst of 20, then 5 a second for each address.
  - id: everything
    key: ip
    limit: { tokenBucket: { capacity: 20, refillPerSecond: 5 } }
`;

/** Further rules of a running demo, which has a control plane: other algorithms, tenants, a plan and a durable quota. */
export const DEMO_FURTHER_RULES = `  # Searches: one after the other, three a second for each address; two more may wait.
  - id: search
    match: { path: /search }
    key: ip
    limit: { leakyBucket: { ratePerSecond: 3, queueSize: 2 } }
  # The API: requests of each tenant in a minute, more of them on the plan "pro".
  - id: api
    match: { path: /api/* }
    key: tenant
    limit: { slidingWindowCounter: { limit: 60, windowMs: 1m } }
    tiers: { pro: { slidingWindowCounter: { limit: 1200, windowMs: 1m } } }
  # Planned, and only watched so far: nothing is refused.
  - id: api-planned
    match: { path: /api/* }
    key: tenant
    limit: { fixedWindow: { limit: 30, windowMs: 10s } }
    onExceed: shadow
  # Sold: exports in a month, kept in the ledger.
  - id: exports
    match: { path: /api/exports, methods: POST }
    key: tenant
    limit: { quota: { limit: 200, period: month } }
    tiers: { pro: { quota: { limit: 5000, period: month } } }
    durable: { alertAt: [80%, 100%] }
`;

/** The files of a demo. */
export interface DemoFiles {
  /** The rules that are published first. */
  readonly rules: string;
  /** The database of the control plane. */
  readonly database: string;
}

/**
 * The text of the demo's configuration, with its gateway in front of `upstreamUrl`.
 *
 * @param files - Where the rules and the control plane's database are. Default: the rules are in the configuration
 *   itself, and there is no control plane.
 */
export function demoConfiguration(upstreamUrl: string, files?: DemoFiles): string {
  return `# The demo: a gateway, and limits that are small enough to meet.
gateway:
  listen: 127.0.0.1:8080
admin:
  listen: 127.0.0.1:9090
upstreams:
  demo:
    backends: [${upstreamUrl}]
routes:
  - path: /*
    upstream: demo
store:
  kind: memory
telemetry:
  logLevel: warn
${files === undefined ? `rules:\n${DEMO_RULES.replaceAll(/^/gm, "  ").trimEnd()}` : toFiles(files)}
`;
}

function toFiles({ rules, database }: DemoFiles): string {
  return `# The demo's own traffic says which address it stands for.
identity:
  trustedProxies: [loopback]
  apiKeys: control
rules:
  file: ${JSON.stringify(rules)}
control:
  database: ${JSON.stringify(`file:${database}`)}
  snapshot: ${JSON.stringify(`${database}.snapshot`)}`;
}
