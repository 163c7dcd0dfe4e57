// The description of the process and its listeners: what their sections of the file may say.

import { HEALTH_PATHS } from "sluice/load-shedding";
import { listOf, optional, required, section, withDefault } from "./fields.js";
import { duration, flag, whole } from "./shapes.js";
import {
  bearerToken,
  filePath,
  listen,
  serverName,
  token,
  urlPath,
  urlPathOrFalse,
} from "./strings.js";

const headerName = () => token("the name of a header");

const HOUR_MS = 3_600_000;
const GIB_BYTES = 1_073_741_824;

/** The process. */
export const serverSection = section({
  workers: withDefault(
    whole({ min: 1, max: 256 }),
    1,
    "Processes that serve; 1 is a single process.",
  ),
  drainDelayMs: withDefault(
    duration({ min: 0, max: HOUR_MS }),
    0,
    "How long the service keeps serving after SIGTERM while readiness already fails: as long as load balancers need to notice.",
  ),
  drainMs: withDefault(
    duration({ min: 0, max: HOUR_MS }),
    10_000,
    "How long requests under way may take after that.",
  ),
});

const tlsSection = section({
  certFile: required(filePath(), "The certificate and its chain, as PEM."),
  keyFile: required(filePath(), "The private key of the certificate, as PEM."),
});

const mutualTlsSection = section({
  certFile: required(filePath(), "The certificate and its chain, as PEM."),
  keyFile: required(filePath(), "The private key of the certificate, as PEM."),
  clientCaFile: optional(
    filePath(),
    "The authorities that must have issued client certificates, as PEM; if omitted, clients need no certificate.",
  ),
});

/** The reverse proxy. */
export const gatewaySection = section({
  listen: withDefault(listen(), ":8080", "Where clients connect."),
  tls: optional(
    tlsSection,
    "Terminates TLS with this certificate; if omitted, the gateway speaks plain HTTP.",
  ),
  headerBytesMax: withDefault(
    whole({ min: 1_024, max: 1_048_576 }),
    16_384,
    "The most bytes of a request's head; beyond it 431.",
  ),
  headersMax: withDefault(
    whole({ min: 1, max: 10_000 }),
    200,
    "The most headers of a request; beyond it 431.",
  ),
  bodyBytesMax: withDefault(
    whole({ min: 0, max: 1_024 * GIB_BYTES }),
    10_485_760,
    "The most bytes of a request's body; beyond it 413. 0 means no limit.",
  ),
  headersTimeoutMs: withDefault(
    duration({ min: 100, max: HOUR_MS }),
    10_000,
    "How long a request's head may take to arrive.",
  ),
  requestTimeoutMs: withDefault(
    duration({ min: 0, max: 24 * HOUR_MS }),
    60_000,
    "How long a whole request may take to arrive. 0 means no limit.",
  ),
  keepAliveMs: withDefault(
    duration({ min: 0, max: HOUR_MS }),
    65_000,
    "How long an idle connection stays open. Set it longer than the load balancer in front keeps its own. 0 means no limit.",
  ),
  connectionsMax: withDefault(
    whole({ min: 1, max: 1_000_000 }),
    20_000,
    "The most connections at a time; further ones are closed.",
  ),
  rateLimitPath: withDefault(
    urlPathOrFalse("a path such as /rate_limit"),
    "/rate_limit",
    "The path at which callers read their own limits; false for none.",
  ),
  requestIdHeader: optional(
    headerName(),
    "The request header whose value identifies a request, so that a retry is charged once: Idempotency-Key, if upstreams answer a repeated one with the first answer, or a header that a trusted proxy sets.",
  ),
  healthPaths: withDefault(
    listOf(urlPath("a path such as /healthz"), { min: 0, max: 100 }),
    HEALTH_PATHS,
    "Paths of health checks: their GET and HEAD requests are never refused by adaptive limits and circuit breakers.",
  ),
  usagePath: withDefault(
    urlPathOrFalse("a path such as /v1/usage"),
    false,
    "The path at which tenants read what they used of their durable quotas; false for none.",
  ),
});

/** The decision API and forward-auth. */
export const decisionSection = section({
  listen: withDefault(listen(), "127.0.0.1:8082", "Where it answers."),
  tokens: withDefault(
    listOf(bearerToken(), { min: 0, max: 1_000 }),
    [],
    "Bearer tokens that it accepts. At least one is required unless it listens on a loopback address.",
  ),
  forwardAuth: withDefault(flag(), true, "Whether /check and /check/nginx answer other proxies."),
  bodyBytesMax: withDefault(
    whole({ min: 1_024, max: 67_108_864 }),
    1_048_576,
    "The most bytes of a request's body; beyond it 413.",
  ),
});

const limitHeadersSection = section({
  limit: withDefault(headerName(), "RateLimit-Limit", "The header with the number of requests."),
  remaining: withDefault(headerName(), "RateLimit-Remaining", "The header with what is left."),
  reset: withDefault(headerName(), "RateLimit-Reset", "The header with the seconds until a reset."),
});

/** Envoy's rate limit service. */
export const envoySection = section({
  listen: withDefault(listen(), "127.0.0.1:8081", "Where it answers gRPC."),
  tls: optional(
    mutualTlsSection,
    "Serves gRPC over TLS; if omitted, gRPC is not encrypted. `http` never uses TLS.",
  ),
  http: optional(
    listen(),
    "Where it answers POST /json and /healthcheck; if omitted, it answers neither.",
  ),
  files: required(
    listOf(filePath(), { min: 1, max: 1_000 }),
    "Files of envoyproxy/ratelimit, one domain each, or folders of them.",
  ),
  mergeDomains: withDefault(
    flag(),
    false,
    "Whether files with the same domain are merged. Otherwise that is an error.",
  ),
  shadowMode: withDefault(
    flag(),
    false,
    "Whether every request passes. Limits count, and statuses report which are exceeded.",
  ),
  quotaMode: withDefault(
    flag(),
    false,
    "Whether all limits are quotas: a request is refused only if all of its limits are exceeded.",
  ),
  responseHeaders: optional(
    limitHeadersSection,
    "Headers that show clients the limit that refuses, or the one with the least left; `{}` for the default names. If omitted, none are sent.",
  ),
  requestHeaders: optional(
    limitHeadersSection,
    "The same headers for upstreams; `{}` for the default names. If omitted, none are sent.",
  ),
  dynamicMetadata: withDefault(
    flag(),
    false,
    "Whether answers carry dynamic metadata: the descriptors, and the metadata of limits that passed.",
  ),
});

/** Metrics, health, and what the command asks. */
export const adminSection = section({
  listen: withDefault(listen(), "127.0.0.1:9090", "Where it answers."),
  token: optional(
    bearerToken(),
    "The bearer token that it accepts. Required unless it listens on a loopback address.",
  ),
  hosts: withDefault(
    listOf(serverName(), { min: 0, max: 50 }),
    [],
    "Names under which browsers may use it, besides addresses and localhost.",
  ),
});
