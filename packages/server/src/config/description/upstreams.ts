// The description of upstreams and of the routes that lead to them.

import { adaptiveSection, breakerSection } from "./adaptive.js";
import { listOf, optional, required, section, withDefault } from "./fields.js";
import { duration, flag, oneOf, whole } from "./shapes.js";
import { backendUrl, filePath, hostName, routePath, serverName, text } from "./strings.js";

const HOUR_MS = 3_600_000;

const tlsSection = section({
  caFile: optional(
    filePath(),
    "The certificates of the authorities that are trusted, as PEM; if omitted, those that Node.js includes.",
  ),
  serverName: optional(
    serverName(),
    "The name that the gateway asks for (SNI) and that the certificate must have; if omitted, the backend's host.",
  ),
  certFile: optional(filePath(), "The client certificate of the gateway, as PEM."),
  keyFile: optional(filePath(), "The private key of the client certificate, as PEM."),
  verify: withDefault(
    flag(),
    true,
    "Whether certificates are verified. With false anyone between the gateway and the upstream can read and change everything.",
  ),
});

/** Where requests go. */
export const upstreamSection = section(
  {
    backends: required(
      listOf(backendUrl(), { min: 1, max: 1_000 }),
      "The addresses of its servers, http://host:port or https://host:port.",
    ),
    tls: optional(
      tlsSection,
      "How https backends are verified, and the client certificate for them.",
    ),
    balance: withDefault(
      oneOf(["round-robin", "least-connections"]),
      "round-robin",
      "How a backend is chosen: in turn, or the one with the fewest requests under way.",
    ),
    connectTimeoutMs: withDefault(
      duration({ min: 1, max: HOUR_MS }),
      2_000,
      "How long a connection may take to open.",
    ),
    responseTimeoutMs: withDefault(
      duration({ min: 1, max: 24 * HOUR_MS }),
      30_000,
      "How long the head of the response may take to arrive.",
    ),
    idleTimeoutMs: withDefault(
      duration({ min: 0, max: 24 * HOUR_MS }),
      60_000,
      "The longest pause between two pieces of a body, in either direction. 0 means no limit.",
    ),
    retriesMax: withDefault(
      whole({ min: 0, max: 10 }),
      1,
      "Other backends tried for an idempotent request whose response has not begun.",
    ),
    failuresMax: withDefault(
      whole({ min: 1, max: 1_000 }),
      5,
      "Failures in a row after which a backend is ejected.",
    ),
    ejectMs: withDefault(duration({ min: 1, max: HOUR_MS }), 10_000, "How long it stays ejected."),
    connectionsMax: withDefault(
      whole({ min: 1, max: 65_535 }),
      256,
      "Connections to each backend, those of WebSockets included.",
    ),
    waitingMax: withDefault(
      whole({ min: 0, max: 1_000_000 }),
      1_024,
      "Requests that wait for a connection; beyond it 503.",
    ),
    adaptive: optional(
      adaptiveSection,
      "A limit of concurrent requests that follows what the upstream can take; beyond it 503. If omitted, there is none.",
    ),
    breaker: optional(
      breakerSection,
      "Stops sending requests to an upstream that keeps failing; they get 503. If omitted, it is tried each time.",
    ),
  },
  new Map([["targets", "backends"]]),
);

/** Which requests go where. */
export const routeSection = section({
  path: required(
    routePath(),
    "A path, or everything below one: /api/*. The first route that matches is used.",
  ),
  host: optional(hostName(), "The host of the request, without a port; if omitted, any host."),
  upstream: required(
    text({ what: "the name of an upstream", pattern: /^[\w-]+$/, lengthMax: 64 }),
    "The name of the upstream that serves the request.",
  ),
  preserveHost: withDefault(
    flag(),
    true,
    "Whether the client's Host header is forwarded, instead of the backend's host.",
  ),
  adaptive: optional(
    adaptiveSection,
    "A limit of concurrent requests for this route alone, before that of the upstream; the fields are the same.",
  ),
});
