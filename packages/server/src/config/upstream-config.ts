// What a configuration says about upstreams: their backends, limits that adapt to them, and circuit breakers.

import type { AdaptiveOptions } from "sluice/adaptive";

/** A limit of concurrent requests that adapts, in each process. */
export type AdaptiveConfig = Readonly<Omit<AdaptiveOptions, "clock" | "permitMs">>;

/** The circuit breaker of an upstream. */
export interface BreakerConfig {
  /** Failures in a row that open it. Default 10. */
  readonly failuresMax: number;
  /** How long it stays open at first. Default 1,000. */
  readonly openMs: number;
}

/** TLS to the `https` backends of an upstream. */
export interface UpstreamTlsConfig {
  /** The authorities that are trusted; undefined: those that Node comes with. */
  readonly caFile: string | undefined;
  /** The name that the certificate has to be for; undefined: the backend's host. */
  readonly serverName: string | undefined;
  /** The certificate that the gateway shows; undefined: none. */
  readonly certFile: string | undefined;
  readonly keyFile: string | undefined;
  /** Whether certificates are checked. Default true. */
  readonly verify: boolean;
}

/** Where requests go. */
export interface UpstreamConfig {
  readonly name: string;
  /** `http://host:port` or `https://host:port`, at least one. */
  readonly backends: readonly string[];
  /** For `https` backends; undefined: verified as browsers do, without a certificate of our own. */
  readonly tls?: UpstreamTlsConfig | undefined;
  readonly balance: "round-robin" | "least-connections";
  /** Default 2,000. */
  readonly connectTimeoutMs: number;
  /** How long the head of the response may take to arrive. Default 30,000. */
  readonly responseTimeoutMs: number;
  /** The longest pause between two pieces of a body, in either direction; 0 means no limit. Default 60,000. */
  readonly idleTimeoutMs: number;
  /** Other backends tried for an idempotent request whose response has not begun. Default 1. */
  readonly retriesMax: number;
  /** Failures in a row after which a backend is ejected. Default 5. */
  readonly failuresMax: number;
  /** For how long. Default 10,000. */
  readonly ejectMs: number;
  /** Connections to each backend. Default 256. */
  readonly connectionsMax: number;
  /** Requests that wait for a connection; beyond it 503. Default 1,024. */
  readonly waitingMax: number;
  /** Undefined: concurrent requests are limited by connections only. */
  readonly adaptive?: AdaptiveConfig | undefined;
  /** Undefined: an upstream that keeps failing is tried each time. */
  readonly breaker?: BreakerConfig | undefined;
}
