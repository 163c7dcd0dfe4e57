// Configuration files with one mistake each, and what is said of them.

/** A file that is good, to which most cases add what is bad, from line 7 on. */
export const goodFile = `version: 1
gateway: { listen: "127.0.0.1:8080" }
upstreams:
  app: { backends: [http://127.0.0.1:3000] }
routes: [{ path: /*, upstream: app }]
rules: { version: 1, rules: [] }
`;

const OPEN = "${";
const address = "an address such as 127.0.0.1:8080, [::1]:8080 or :8080, or a port from 0 to 65535";
const backend =
  "an address such as http://127.0.0.1:3000 or https://api.example.com, without a path";

type Case = readonly [what: string, text: string, problem: string];

const added: readonly Case[] = [
  [
    "a region without a store",
    "store: { kind: redis }\nregions: { self: eu, home: ue, stores: { eu: { url: 'redis://a' } } }",
    'sluice.yaml:8: regions.home "ue" is not in regions.stores; known: eu',
  ],
  [
    "a standby that is the home region",
    "store: { kind: redis }\nregions: { self: eu, home: eu, standby: eu, stores: { eu: { url: 'redis://a' } } }",
    "sluice.yaml:8: regions.standby must differ from regions.home",
  ],
  [
    "a standby without a store",
    "store: { kind: redis }\nregions: { self: eu, home: eu, standby: us, stores: { eu: { url: 'redis://a' } } }",
    'sluice.yaml:8: regions.standby "us" is not in regions.stores; known: eu',
  ],
  [
    "a standby that takes over automatically without a control plane",
    "store: { kind: redis }\nregions: { self: eu, home: eu, standby: us, takeover: automatic, stores: { eu: { url: 'redis://a' }, us: { url: 'redis://b' } } }",
    "sluice.yaml:8: regions.takeover automatic needs control.database with PostgreSQL, or control.follow: SQLite is one node's own",
  ],
  [
    "regions over a memory store",
    "regions: { self: eu, home: eu, stores: { eu: { url: 'redis://a' } } }",
    "sluice.yaml:7: regions need store.kind redis: a region's processes share its counters",
  ],
  [
    "regions beside a store with an address",
    "store: { kind: redis, url: 'redis://a' }\nregions: { self: eu, home: eu, stores: { eu: { url: 'redis://a' } } }",
    "sluice.yaml:7: store.url can't be set beside regions: with regions it is in regions.stores",
  ],
  [
    "a region's address that can't be read, without showing it",
    "store: { kind: redis }\nregions: { self: eu, home: eu, stores: { eu: { url: 'redis://u:a/b@c' } } }",
    "sluice.yaml:8: regions.stores.eu.url must be an address such as redis://user:password@127.0.0.1:6379/0, where characters such as / and @ in the password are written as %2F and %40 (its value is a secret and not shown)",
  ],
  [
    "two regions with one Redis, whose address is written in two ways",
    "store: { kind: redis }\nregions: { self: eu, home: eu, stores: { eu: { url: 'redis://u:p@a' }, us: { url: 'redis://A:6379/0' } } }",
    "sluice.yaml:8: regions.stores.us.url is the address of eu; every region needs a Redis of its own",
  ],
  [
    "a control plane that comes from nowhere",
    "control: { node: a }",
    "sluice.yaml:7: control needs database (a control node: file:sluice.db, or postgres://…) or follow (the URL of a control node)",
  ],
  [
    "a control plane that comes from two places",
    'control: { database: "file:a.db", follow: "https://control:9090", token: a-token-of-16-letters }',
    "sluice.yaml:7: control has database and follow: a node has one or the other",
  ],
  [
    "a database of another kind, without showing it",
    "control: { database: mysql://user:secret@host/a }",
    "sluice.yaml:7: control.database must be file:PATH for an SQLite file, or postgres://… for PostgreSQL, got a string of 26 characters that begins with mysql://",
  ],
  [
    "a follower without a token",
    "control: { follow: https://control:9090 }",
    "sluice.yaml:7: control.token is missing: follow needs an access token of the control node (sluice tokens create)",
  ],
  [
    "a follower that follows a path",
    "control: { follow: https://control:9090/v1, token: a-token-of-16-letters }",
    'sluice.yaml:7: control.follow must be the URL of the admin port of a control node, such as https://control.example.com:9090, got "https://control:9090/v1"',
  ],
  [
    "a token of a control node",
    'control: { database: "file:a.db", token: a-token-of-16-letters }',
    "sluice.yaml:7: control.token needs follow, which is not set",
  ],
  [
    "webhooks without a database",
    "ledger: { webhooks: { billing: { url: https://billing.example.com/, secret: a-secret-of-16-letters } } }",
    "sluice.yaml:7: ledger.webhooks need the database of the ledger: set control.database or ledger.database",
  ],
  [
    "a webhook in clear",
    'control: { database: "file:a.db" }\nledger: { webhooks: { billing: { url: http://billing.example.com/hook-4711, secret: a-secret-of-16-letters } } }',
    "sluice.yaml:8: ledger.webhooks.billing.url must begin with https://, or every machine on the way can read and change what is sent; in a network that is trusted set allowHttp: true",
  ],
  [
    "a webhook with a password in its URL, without showing it",
    'control: { database: "file:a.db" }\nledger: { webhooks: { billing: { url: "https://a:pass@billing.example.com/", secret: a-secret-of-16-letters } } }',
    "sluice.yaml:8: ledger.webhooks.billing.url must be an https:// URL without a user name, a password or a fragment, got a string of 35 characters",
  ],
  [
    "a webhook with a short secret, without showing it",
    'control: { database: "file:a.db" }\nledger: { webhooks: { billing: { url: "https://billing.example.com/", secret: short } } }',
    "sluice.yaml:8: ledger.webhooks.billing.secret must be a string of at least 16 characters without spaces, got a string of 5 characters",
  ],
  [
    "a webhook whose secret was not rotated",
    'control: { database: "file:a.db" }\nledger: { webhooks: { billing: { url: "https://billing.example.com/", secret: a-secret-of-16-letters, previousSecret: a-secret-of-16-letters } } }',
    "sluice.yaml:8: ledger.webhooks.billing.previousSecret is the same as secret: leave it out unless the secret is being rotated",
  ],
  [
    "authorities for a webhook in clear",
    'control: { database: "file:a.db" }\nledger: { webhooks: { billing: { url: "http://127.0.0.1:1/", caFile: missing.pem, secret: a-secret-of-16-letters } } }',
    "sluice.yaml:8: ledger.webhooks.billing.caFile needs an https:// URL",
  ],
  [
    "an invalid number",
    "server: { workers: ten }",
    'sluice.yaml:7: server.workers must be a whole number from 1 to 256, got "ten"',
  ],
  [
    "a number out of bounds",
    "server:\n  workers: 257",
    "sluice.yaml:8: server.workers must be a whole number from 1 to 256, got 257",
  ],
  [
    "a fraction where none fits",
    "server: { workers: 1.5 }",
    "sluice.yaml:7: server.workers must be a whole number from 1 to 256, got 1.5",
  ],
  [
    "an invalid duration",
    "server: { drainMs: 10 seconds }",
    'sluice.yaml:7: server.drainMs must be milliseconds from 0 to 3600000, or a string such as 250ms, 10s or 5m, got "10 seconds"',
  ],
  [
    "a duration that is too long",
    "server: { drainMs: 2h }",
    'sluice.yaml:7: server.drainMs must be milliseconds from 0 to 3600000, or a string such as 250ms, 10s or 5m, got "2h"',
  ],
  [
    "a negative duration",
    "server: { drainMs: -1 }",
    "sluice.yaml:7: server.drainMs must be milliseconds from 0 to 3600000, or a string such as 250ms, 10s or 5m, got -1",
  ],
  [
    "a word that is misspelt",
    "telemetry: { logLevel: wran }",
    'sluice.yaml:7: telemetry.logLevel must be one of fatal, error, warn, info, debug, trace, silent, got "wran"; did you mean warn?',
  ],
  [
    "a word that is not known",
    "telemetry: { logLevel: loud }",
    'sluice.yaml:7: telemetry.logLevel must be one of fatal, error, warn, info, debug, trace, silent, got "loud"',
  ],
  [
    "an invalid flag",
    "identity: { forwardedHost: yes }",
    'sluice.yaml:7: identity.forwardedHost must be true or false, got "yes"',
  ],
  [
    "a share above one",
    "telemetry: { decisionLogShare: 2 }",
    "sluice.yaml:7: telemetry.decisionLogShare must be a number from 0 to 1, got 2",
  ],
  [
    "nothing after a name",
    "server: { workers: }",
    "sluice.yaml:7: server.workers must be a whole number from 1 to 256, got null",
  ],
  [
    "a map where a value belongs",
    "server: { workers: { a: 1 } }",
    "sluice.yaml:7: server.workers must be a whole number from 1 to 256, got a map",
  ],
  [
    "a value where a section belongs",
    "server: 5",
    "sluice.yaml:7: server must be a map of values, got 5",
  ],
  [
    "a section without anything",
    "server:",
    "sluice.yaml:7: server must be a map of values, got null",
  ],
  [
    "a label with a space",
    "telemetry: { region: a b }",
    'sluice.yaml:7: telemetry.region must be 1 to 64 letters, digits or _ - ., got "a b"',
  ],
  [
    "a misspelt section",
    "telemetrie: {}",
    "sluice.yaml:7: telemetrie is unknown, did you mean telemetry? known: $schema, version, server, gateway, decision, envoy, admin, upstreams, routes, store, regions, identity, responses, challenge, rules, lists, control, ledger, telemetry",
  ],
  [
    "a misspelt field",
    "server:\n  drainMS: 5",
    "sluice.yaml:8: server.drainMS is unknown, did you mean drainMs? known: workers, drainDelayMs, drainMs",
  ],
  [
    "a field that is like none",
    "server: { port: 5 }",
    "sluice.yaml:7: server.port is unknown; known: workers, drainDelayMs, drainMs",
  ],
  [
    "a field that JavaScript knows",
    "server: { constructor: 5 }",
    "sluice.yaml:7: server.constructor is unknown; known: workers, drainDelayMs, drainMs",
  ],
  [
    "a name that would vanish",
    "server: { __proto__: { workers: 5 } }",
    "sluice.yaml:7: server.__proto__ can't be a name",
  ],
  [
    "a key twice",
    "server: { workers: 1 }\nserver: { workers: 2 }",
    'sluice.yaml:8: the key "server" occurs twice',
  ],
  [
    "a field twice",
    "server:\n  workers: 1\n  workers: 2",
    'sluice.yaml:9: the key "workers" occurs twice',
  ],
  [
    "an alias of nothing",
    "server: *nothing",
    "sluice.yaml:7: the alias *nothing has no anchor before it",
  ],
  ["several documents", "---\na: 1", "sluice.yaml:7: the text holds several documents"],
  ["a tag", "server: !mine { workers: 1 }", "sluice.yaml:7: Unresolved tag: !mine"],
  [
    "a list that is not closed",
    "server: [1",
    "sluice.yaml:8: Flow sequence in block collection must be sufficiently indented and end with a ]",
  ],
  [
    "a variable without quotes in braces",
    `server: { workers: ${OPEN}N} }`,
    `sluice.yaml:7: Unexpected flow-map-start at node end; inside { } or [ ], a string with ${OPEN} needs quotes`,
  ],
  [
    "a variable that is not set",
    `telemetry:\n  region: eu-${OPEN}N}`,
    "sluice.yaml:8: telemetry.region needs the variable N, which is not set",
  ],
  [
    "a variable without a name",
    `telemetry:\n  region: ${OPEN}}`,
    `sluice.yaml:8: telemetry.region has ${OPEN} without NAME} or NAME:-default} after it; write $${OPEN} for the characters themselves`,
  ],
  [
    "an invalid place to listen at",
    "admin: { listen: 1.2.3.4 }",
    `sluice.yaml:7: admin.listen must be ${address}, got "1.2.3.4"`,
  ],
  [
    "an invalid port",
    "admin: { listen: 127.0.0.1:65536 }",
    `sluice.yaml:7: admin.listen must be ${address}, got "127.0.0.1:65536"`,
  ],
  [
    "an invalid address of IPv6",
    'admin: { listen: "[::1::2]:1" }',
    `sluice.yaml:7: admin.listen must be ${address}, got "[::1::2]:1"`,
  ],
  [
    "an admin port open to every address",
    "admin:\n  listen: :9090",
    "sluice.yaml:7: admin.token is missing: 0.0.0.0:9090 is open to other machines",
  ],
  [
    "an admin port open to every address by IPv6",
    'admin: { listen: "[::]:9090" }',
    "sluice.yaml:7: admin.token is missing: [::]:9090 is open to other machines",
  ],
  [
    "a decision API open to every address",
    "decision:\n  listen: 10.0.0.1:8082",
    "sluice.yaml:7: decision.tokens must have a token: 10.0.0.1:8082 is open to other machines",
  ],
  [
    "two listeners at one port",
    "admin: { listen: 127.0.0.1:8080 }",
    "sluice.yaml:7: admin.listen must differ from gateway.listen, both are 127.0.0.1:8080",
  ],
  [
    "a listener at a port of all addresses",
    "decision: { listen: :8080, tokens: [aaaaaaaaaaaaaaaa] }",
    "sluice.yaml:7: decision.listen must differ from gateway.listen, both are 0.0.0.0:8080",
  ],
  [
    "a token that is too short",
    "admin: { token: abc }",
    "sluice.yaml:7: admin.token must be a string of 16 to 512 characters without spaces, got a string of 3 characters",
  ],
  [
    "a token that is longer than any that is compared",
    `decision: { listen: 127.0.0.1:8082, tokens: [${"a".repeat(513)}] }`,
    "sluice.yaml:7: decision.tokens[0] must be a string of 16 to 512 characters without spaces, got a string of 513 characters",
  ],
  [
    "a token that is a number",
    "admin: { token: 12345678901234567890 }",
    "sluice.yaml:7: admin.token must be a string of 16 to 512 characters without spaces, got a number, not in quotes",
  ],
  [
    "Redis without an address",
    "store: { kind: redis }",
    "sluice.yaml:7: store.url is missing: kind redis needs one such as redis://127.0.0.1:6379",
  ],
  [
    "an address of Redis without its kind",
    "store:\n  url: redis://127.0.0.1",
    "sluice.yaml:8: store.url is only for kind redis, but the kind is memory; remove it",
  ],
  [
    "an invalid address of Redis",
    "store: { kind: redis, url: 'http://127.0.0.1' }",
    "sluice.yaml:7: store.url must be an address such as redis://127.0.0.1:6379/0 or rediss://…, got a string of 16 characters that begins with http://",
  ],
  [
    "keys of memory in Redis",
    "store: { kind: redis, url: 'redis://a', keysMax: 5000 }",
    "sluice.yaml:7: store.keysMax is only for kind memory, but the kind is redis; remove it",
  ],
  [
    "a fact from nowhere",
    "identity: { user: {} }",
    "sluice.yaml:7: identity.user needs header or claim, got neither",
  ],
  [
    "a fact from two places",
    "identity: { user: { header: a, claim: b } }",
    "sluice.yaml:7: identity.user needs header or claim, got both",
  ],
  [
    "a claim without a verifier",
    "identity:\n  tenant:\n    claim: sub",
    "sluice.yaml:9: identity.tenant.claim needs identity.jwt, which verifies tokens",
  ],
  [
    "API keys of a control plane that is not there",
    "identity: { apiKeys: control }",
    "sluice.yaml:7: identity.apiKeys needs the section control, which says where it is",
  ],
  [
    "unknown API keys where none are resolved",
    "identity: { unknownKeys: anonymous }",
    "sluice.yaml:7: identity.unknownKeys needs apiKeys: control",
  ],
  [
    "a header that no peer is trusted with",
    "identity: { user: { header: x-user } }",
    "sluice.yaml:7: identity.user.header would never be trusted: identity.trustedProxies is empty; name the proxies, or set trust: anyone",
  ],
  [
    "an invalid range",
    "identity:\n  trustedProxies: [10.0.0.0/99]",
    'sluice.yaml:8: identity.trustedProxies can\'t be used: needs ranges such as 10.0.0.0/8, 2001:db8::/32 or loopback, got "10.0.0.0/99"',
  ],
  [
    "trust in every address",
    "identity:\n  trustedProxies: [0.0.0.0/0]",
    'sluice.yaml:8: identity.trustedProxies can\'t be used: "0.0.0.0/0" lets every client choose its own address',
  ],
  [
    "a verifier without a key",
    "identity: { jwt: { algorithms: [RS256] } }",
    "sluice.yaml:7: identity.jwt needs one of keyFile, jwksFile, jwksUrl, secret, got none",
  ],
  [
    "an invalid name of a header",
    "identity: { apiKey: { header: 'x api' } }",
    'sluice.yaml:7: identity.apiKey.header must be the name of a header such as x-user-id, got "x api"',
  ],
  [
    "a count below zero",
    "responses: { delayedMax: -1 }",
    "sluice.yaml:7: responses.delayedMax must be a whole number from 0 to 1000000, got -1",
  ],
];

const whole: readonly Case[] = [
  [
    "nothing at all",
    "",
    "sluice.yaml:1: the configuration opens no listener: it needs gateway, decision or envoy",
  ],
  ["a list", "- 1", "sluice.yaml:1: the configuration must be a map of sections"],
  ["a word", "hello", "sluice.yaml:1: the configuration must be a map of sections"],
  ["another version", goodFile.replace("1", "2"), "sluice.yaml:1: version must be 1, got 2"],
  [
    "an adaptive limit whose bounds are the wrong way round",
    goodFile.replace("3000] }", "3000], adaptive: { min: 10, max: 5 } }"),
    "sluice.yaml:4: upstreams.app.adaptive is invalid: min must be at most max, got 10 and 5",
  ],
  [
    "an adaptive limit of a route with shares that rise",
    goodFile.replace("upstream: app }", "upstream: app, adaptive: { shares: { low: 0.9 } } }"),
    "sluice.yaml:5: routes[0].adaptive is invalid: shares must not rise from high to normal to low, got 0.9, 0.8 and 0.9",
  ],
  [
    "no upstream of that name",
    goodFile.replace("upstream: app", "upstream: ap"),
    'sluice.yaml:5: routes[0].upstream "ap" is not in upstreams; did you mean app?',
  ],
  [
    "an upstream of no name like it",
    goodFile.replace("upstream: app", "upstream: shop"),
    'sluice.yaml:5: routes[0].upstream "shop" is not in upstreams; there are app',
  ],
  [
    "a gateway without routes",
    goodFile.replace(/^routes.*\n/m, ""),
    "sluice.yaml:1: routes must have at least one route: gateway needs one",
  ],
  [
    "a gateway without rules",
    goodFile.replace(/^rules.*\n/m, ""),
    "sluice.yaml:1: rules is missing: gateway needs { file: rules.yaml }, or rules written here",
  ],
  [
    "a backend by ftp",
    goodFile.replace("http:", "ftp:"),
    `sluice.yaml:4: upstreams.app.backends[0] must be ${backend}, got "ftp://127.0.0.1:3000"`,
  ],
  [
    "a backend with a path",
    goodFile.replace(":3000", ":3000/api"),
    `sluice.yaml:4: upstreams.app.backends[0] must be ${backend}, got "http://127.0.0.1:3000/api"`,
  ],
  [
    "a backend with an invalid port",
    goodFile.replace(":3000", ":99999"),
    `sluice.yaml:4: upstreams.app.backends[0] must be ${backend}, got "http://127.0.0.1:99999"`,
  ],
  [
    "no backend",
    goodFile.replace(/\[http.*\]/, "[]"),
    "sluice.yaml:4: upstreams.app.backends must be a list of 1 to 1000 items, got 0",
  ],
  [
    "backends by the name that they had before",
    goodFile.replace("backends: [http://127.0.0.1:3000]", "targets: [], backends: [http://a]"),
    "sluice.yaml:4: upstreams.app.targets is unknown, did you mean backends? known: backends, tls, balance, connectTimeoutMs, responseTimeoutMs, idleTimeoutMs, retriesMax, failuresMax, ejectMs, connectionsMax, waitingMax, adaptive, breaker",
  ],
  [
    "an upstream that says nothing",
    goodFile.replace(/\{ backends.*\}/, "{}"),
    "sluice.yaml:4: upstreams.app.backends is missing; it must be a list of 1 to 1000 items",
  ],
  [
    "an invalid name of an upstream",
    goodFile.replace("  app:", "  a.b: { backends: [http://a] }\n  app:"),
    'sluice.yaml:4: upstreams["a.b"] can\'t be a name: it must have 1 to 64 letters, digits, _ or -',
  ],
  [
    "a route twice",
    goodFile.replace("[{", "[{ path: /*, upstream: app }, {"),
    "sluice.yaml:5: routes[1] is never reached: routes[0] takes all its requests",
  ],
  [
    "a route behind a wider one",
    goodFile.replace("[{", "[{ path: /a/*, upstream: app }, { path: /a, upstream: app }, {"),
    "sluice.yaml:5: routes[1] is never reached: routes[0] takes all its requests",
  ],
  [
    "a route with a query",
    goodFile.replace("path: /*", "path: /a?b"),
    'sluice.yaml:5: routes[0].path must be a path such as /users, or /api/* for everything below one, got "/a?b"',
  ],
  [
    "a route that no request can have",
    goodFile.replace("path: /*", "path: /a%zz"),
    'sluice.yaml:5: routes[0].path must be a path that a request can have, got "/a%zz"',
  ],
  [
    "a host with a port",
    goodFile.replace("path: /*", "path: /*, host: 'a:80'"),
    'sluice.yaml:5: routes[0].host must be a host without a port, such as api.example.com or *.example.com, got "a:80"',
  ],
  [
    "a head that may take longer than its request",
    goodFile.replace('8080"', '8080", headersTimeoutMs: 2m'),
    "sluice.yaml:2: gateway.headersTimeoutMs must be at most requestTimeoutMs, got 120000 and 60000",
  ],
];

/** What is wrong, the whole file, and the problem as it is reported. */
export const badFiles: readonly Case[] = [
  ...added.map(([what, text, problem]): Case => [what, `${goodFile}${text}\n`, problem]),
  ...whole,
];
