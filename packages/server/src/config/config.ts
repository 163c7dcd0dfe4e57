// What a configuration file says, validated and filled in: the shape that everything else in the service
// reads. `load.ts` makes it; docs/reference/configuration.md describes each value.

import type { FailurePolicy } from "sluice";
import type { HttpOptions, IdentityOptions } from "sluice/http";
import type { RulesInput } from "sluice/rules";
import type { ListenAddress } from "../base/http/listen.js";
import type { AdaptiveConfig, UpstreamConfig } from "./upstream-config.js";

export type { UpstreamConfig, UpstreamTlsConfig } from "./upstream-config.js";

/** The whole configuration. A listener that is undefined does not open. */
export interface Config {
  /** The file it came from; undefined for the built-in demo. Relative paths in it are relative to it. */
  readonly file: string | undefined;
  /** Processes that serve; 1 is a single process. Default 1. */
  readonly workers: number;
  /** How long the service continues after SIGTERM while readiness fails already. Default 0. */
  readonly drainDelayMs: number;
  /** How long requests under way may take after that. Default 10,000. */
  readonly drainMs: number;
  readonly gateway: GatewayConfig | undefined;
  readonly decision: DecisionConfig | undefined;
  readonly envoy: EnvoyConfig | undefined;
  readonly admin: AdminConfig;
  readonly upstreams: ReadonlyMap<string, UpstreamConfig>;
  /** Tried in order; the first that fits serves. */
  readonly routes: readonly RouteConfig[];
  /** With regions, that of the own region. */
  readonly store: StoreConfig;
  /** Undefined: there is one region. */
  readonly regions?: RegionsConfig | undefined;
  readonly identity: IdentityOptions;
  /** MMDB files that say what network an address belongs to. Default none. */
  readonly mmdbFiles?: readonly string[] | undefined;
  /** How API keys are resolved; undefined: they are not, and count by their hash. */
  readonly apiKeys?: ApiKeysConfig | undefined;
  /** The format of responses, at every HTTP listener. */
  readonly responses: Pick<
    HttpOptions,
    "headers" | "legacyHeaders" | "body" | "retryAfterJitterMs" | "delayedMax" | "partitionKey"
  >;
  /** How rules with `onExceed: challenge` challenge callers of the gateway; undefined: they don't. */
  readonly challenge?: ChallengeConfig | undefined;
  readonly rules: RulesSource;
  /** Undefined: there are none. */
  readonly lists?: ListsConfig | undefined;
  /** Undefined: everything comes from files. */
  readonly control?: ControlConfig | undefined;
  /** Undefined: there is neither such a section nor a database of the control plane. */
  readonly ledger?: LedgerConfig | undefined;
  readonly telemetry: TelemetryConfig;
}

/** Challenges of the gateway. */
export interface ChallengeConfig {
  /** The first signs, all are accepted. */
  readonly secrets: readonly string[];
  readonly difficulty: number;
  readonly lifetimeMs: number;
  /** Undefined: proof of work. */
  readonly provider?: ChallengeProviderConfig | undefined;
}

/** A provider that distinguishes people from programs. */
export interface ChallengeProviderConfig {
  readonly verifyUrl: string;
  readonly secret: string;
  readonly siteKey: string;
  readonly scriptUrl: string;
  readonly className: string;
  readonly origins: readonly string[];
  readonly timeoutMs: number;
  readonly onFailure: "refuse" | "accept";
}

/** How API keys of the control plane are resolved. */
export interface ApiKeysConfig {
  /** What happens to a request whose key is unknown. Default `refuse`. */
  readonly unknownKeys: "refuse" | "anonymous";
  /** How many keys that a node does not know are looked up in a second. Default 100. */
  readonly lookupsPerSecond: number;
}

/** The control plane: from a database, or from a control node. */
export type ControlConfig = DatabaseControlConfig | FollowControlConfig;

/** What every node of a control plane has. */
interface ControlNodeConfig {
  /** Where the last state is kept. */
  readonly snapshotFile: string;
  /** How old the state may be before readiness fails; undefined: readiness does not fail for that. */
  readonly staleMsMax: number | undefined;
  /** The name of this node. */
  readonly node: string;
  /** Whether `rules` are configured too: a control node publishes them if nothing was published yet. */
  readonly hasRules: boolean;
}

/** A control node. */
export interface DatabaseControlConfig extends ControlNodeConfig {
  readonly kind: "database";
  /** `file:` with an absolute path, or `postgres://…`. Secret: it may have a password. */
  readonly database: string;
}

/** A follower. */
export interface FollowControlConfig extends ControlNodeConfig {
  readonly kind: "follow";
  /** The control node: `https://control.example.com:9090`. */
  readonly url: string;
  readonly token: string;
  /** The authorities that are trusted; undefined: those that Node comes with. */
  readonly caFile: string | undefined;
}

/** The ledger of durable quotas. */
export interface LedgerConfig {
  /** `file:` with an absolute path, or `postgres://…`; undefined: there is none, and no durable rules. Secret. */
  readonly database: string | undefined;
  /** How long a reservation is held. Default 600,000. */
  readonly reservationMs: number;
  /** How long deliveries of webhooks that have ended are kept. Default 30 days. */
  readonly deliveriesKeptMs: number;
  /** Receivers of the events of quotas. Default: none. */
  readonly webhooks: readonly WebhookConfig[];
}

/** A receiver of events. */
export interface WebhookConfig {
  /** Its name in the list of deliveries: one that gets another name is another webhook. */
  readonly name: string;
  /** Where events are sent. Never shown: it may have a secret in it. */
  readonly url: string;
  /** What requests are signed with, the newest first. */
  readonly secrets: readonly string[];
  /** Whether it is sent anything. While it is not, its deliveries wait. Default true. */
  readonly isEnabled: boolean;
  /** How long the receiver may take to answer. Default 10,000. */
  readonly timeoutMs: number;
  /** The authorities that are trusted; undefined: those that Node includes. */
  readonly caFile: string | undefined;
}

/** Files of addresses, with absolute paths. */
export interface ListsConfig {
  /** Requests of these addresses are refused. */
  readonly deny: readonly string[];
  /** Requests of these addresses are not limited. */
  readonly allow: readonly string[];
}

/** Rules: from a file that is watched, or written in the configuration. */
export type RulesSource =
  | { readonly file: string }
  | { readonly inline: Exclude<RulesInput, string> };

/** The reverse proxy. */
export interface GatewayConfig {
  readonly listen: ListenAddress;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  /** The most bytes of a request's head; beyond it 431. Default 16,384. */
  readonly headerBytesMax: number;
  /** The most headers of a request; beyond it 431. Default 200. */
  readonly headersMax: number;
  /** The most bytes of a request's body; beyond it 413. Default 10,485,760; 0 means no limit. */
  readonly bodyBytesMax: number;
  /** How long a request's head may take to arrive. Default 10,000. */
  readonly headersTimeoutMs: number;
  /** How long a whole request may take to arrive; 0 means no limit. Default 60,000. */
  readonly requestTimeoutMs: number;
  /** How long an idle connection stays open. Default 65,000, longer than most load balancers hold theirs. */
  readonly keepAliveMs: number;
  /** The most connections at a time; further ones are closed. Default 20,000. */
  readonly connectionsMax: number;
  /** Whether `GET /rate_limit` is answered for the caller. Default true. */
  readonly rateLimitPath: string | undefined;
  /** The header whose value identifies a request, in lower case; undefined: requests have no ids. */
  readonly requestIdHeader?: string | undefined;
  /** Paths of health checks, which are never shed. Default: /health, /healthz, /livez, /readyz. */
  readonly healthPaths?: readonly string[] | undefined;
  /** Where tenants read what they used of durable quotas. Default: nowhere. */
  readonly usagePath?: string | undefined;
}

/** The decision API and forward-auth. */
export interface DecisionConfig {
  readonly listen: ListenAddress;
  /** Bearer tokens, any of which opens `/v1`; empty only on a loopback address. */
  readonly tokens: readonly string[];
  /** Whether `/check` and `/check/nginx` answer. Default true. */
  readonly forwardAuth: boolean;
  /** Bytes of a request's body. Default 1,048,576. */
  readonly bodyBytesMax: number;
}

/** Envoy's rate limit service. */
export interface EnvoyConfig {
  /** gRPC. */
  readonly listen: ListenAddress;
  /** Undefined: gRPC in clear. */
  readonly tls?: EnvoyTlsConfig | undefined;
  /** `POST /json` and `/healthcheck`; undefined: not served. */
  readonly http: ListenAddress | undefined;
  /** Files of envoyproxy/ratelimit, one domain each, or folders of them; reloaded when they change. */
  readonly files: readonly string[];
  /** Whether several files may have the same domain. Default false. */
  readonly mergeDomains: boolean;
  /** Whether every request passes, whatever its statuses say. Default false. */
  readonly shadowMode: boolean;
  /** Whether all limits are quotas. Default false. */
  readonly quotaMode: boolean;
  /** The headers that report the tightest limit to clients; undefined: none. */
  readonly responseHeaders: LimitHeaderNames | undefined;
  /** The same for upstreams. */
  readonly requestHeaders: LimitHeaderNames | undefined;
  /** Whether answers carry dynamic metadata. Default false. */
  readonly dynamicMetadata: boolean;
}

/** TLS on the gRPC listener. */
export interface EnvoyTlsConfig {
  readonly certFile: string;
  readonly keyFile: string;
  /** The authorities whose certificates clients have to show; undefined: none needed. */
  readonly clientCaFile: string | undefined;
}

/** Names of the headers that report a limit. */
export interface LimitHeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** Metrics, health, and what `sluice` the command asks. */
export interface AdminConfig {
  readonly listen: ListenAddress;
  /** Needed if `listen` is not a loopback address. */
  readonly token: string | undefined;
  /** Names under which browsers may use it, besides addresses and localhost. Default: none. */
  readonly hosts?: readonly string[] | undefined;
}

/** Which requests go where. */
export interface RouteConfig {
  /** `/api/*`: a path, or everything below one. */
  readonly path: string;
  /** Lower case, without port; undefined: any. */
  readonly host: string | undefined;
  readonly upstream: string;
  /** Whether the client's Host header is forwarded, instead of the backend's host. Default true. */
  readonly preserveHost: boolean;
  /** Undefined: only the limit of the upstream holds, if there is one. */
  readonly adaptive?: AdaptiveConfig | undefined;
}

/** Where counters are kept. */
export type StoreConfig = MemoryStoreConfig | RedisStoreConfig;

/** What every store has. */
interface StoreCare {
  /** What answers when the store does not, for limits that don't say it themselves. Default `"local"`. */
  readonly onStoreFailure: FailurePolicy;
}

/** Counters in this service: of several processes, in the one that started the others. */
export interface MemoryStoreConfig extends StoreCare {
  readonly kind: "memory";
  readonly keysMax: number;
}

/** Counters in Redis or Valkey. */
export interface RedisStoreConfig extends StoreCare {
  readonly kind: "redis";
  readonly url: string;
  readonly keyPrefix: string | undefined;
  readonly timeoutMs: number;
  /** Whether readiness fails once the store has been unavailable for five minutes. Default false. */
  readonly failReadiness: boolean;
  /** Hashes keys that are secrets: that of `identity`. Undefined: such a key is an error. */
  readonly keySecret?: string;
}

/** Regions that share limits. */
export interface RegionsConfig {
  readonly self: string;
  readonly home: string;
  /** By name. */
  readonly stores: Readonly<Record<string, { readonly url: string; readonly weight: number }>>;
  /** How limits with `across: split` are shared. Default `weights`. */
  readonly shares: "weights" | "learned";
  /** How long a region may hold what it leased from the home region. Default 5,000. */
  readonly leaseMs: number;
  /** The part of limits with `across: leased` that stays with the regions, 0 to 0.9. Default 0. */
  readonly reserve: number;
  /** The region that takes over when the home region is lost. Undefined: none. */
  readonly standby?: string | undefined;
  /** Who decides that it is lost. Default `manual`. */
  readonly takeover: "manual" | "automatic";
  /** How long the home region may decide after it was last renewed. Default 15,000. */
  readonly permissionMs: number;
  /** Limits that recover within this time wait after a promotion. Default 60,000. */
  readonly promotionWaitMs: number;
}

/** Logs, metrics and traces. */
export interface TelemetryConfig {
  readonly logLevel: "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";
  /** The share of decisions that are logged, 0 to 1: refusals always count fully. Default 0.001. */
  readonly decisionLogShare: number;
  /** A label of all metrics and log lines. Default: the own region, or `"local"` without regions. */
  readonly region: string;
  /** The own region's part of limits with `across: split`, 0 to 1. Undefined without regions. */
  readonly regionShare?: number | undefined;
  /** Keys in each top list. Default 20. */
  readonly topKeysMax: number;
}
