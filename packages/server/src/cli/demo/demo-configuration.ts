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
  return `rules:
  file: ${JSON.stringify(rules)}
control:
  database: ${JSON.stringify(`file:${database}`)}
  snapshot: ${JSON.stringify(`${database}.snapshot`)}`;
}
