// The files that `sluice init` writes: a configuration and its rules, small enough to read in a minute, with
// a comment on each choice.

/** A file and its text. */
export interface StarterFile {
  readonly name: string;
  readonly text: string;
}

const CONFIGURATION = `# The configuration of Sluice. Check it: sluice serve --check. Run it: sluice serve.
# Every value can be an environment variable: gateway.listen is SLUICE_GATEWAY_LISTEN.

# The gateway: clients connect here, and what passes goes on to an upstream.
gateway:
  listen: 127.0.0.1:8080

# Metrics, health, and what the sluice command asks. Other machines need admin.token.
admin:
  listen: 127.0.0.1:9090

# Your API. Several backends share its requests.
upstreams:
  api:
    backends: [http://127.0.0.1:3000]

# Which requests go where.
routes:
  - path: /*
    upstream: api

# Counters in this process. For several machines, count in Redis instead:
#   store: { kind: redis, url: redis://127.0.0.1:6379 }
store:
  kind: memory

# Behind a load balancer, its addresses go here. Without them, Sluice counts the balancer as the client.
# identity:
#   trustedProxies: [10.0.0.0/8]

# The limits. The file is read again whenever it changes.
rules:
  file: rules.yaml
`;

const RULES = `# The limits. A request has to pass every rule that it matches. Try one:
#   sluice explain --method POST --path /login --ip 203.0.113.10
version: 1
rules:
  # Five attempts a minute for each address make guessing passwords useless.
  - id: login
    match: { path: /login, methods: POST }
    key: ip
    limit: 5/minute

  # Everything: a burst of 50, then 10 a second for each address.
  - id: everything
    key: ip
    limit: { tokenBucket: { capacity: 50, refillPerSecond: 10 } }

  # A limit that only counts and refuses nothing yet: shadow mode shows what it would do.
  # - id: search
  #   match: { path: /search }
  #   key: ip
  #   limit: 30/minute
  #   onExceed: shadow
`;

/** In the order in which they are written. */
export const STARTER_FILES: readonly StarterFile[] = [
  { name: "sluice.yaml", text: CONFIGURATION },
  { name: "rules.yaml", text: RULES },
];
