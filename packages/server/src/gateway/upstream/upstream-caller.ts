// What sends a request to a backend, how its connection calls it back, and what can go wrong.

import type { ResponseSink } from "sluice-http1";

/**
 * Why there is no response, or not all of it:
 * - `connect`: no connection; nothing was sent.
 * - `tls`: the TLS handshake failed, as with a certificate that does not verify; nothing was sent.
 * - `connect-timeout`: no connection in time; nothing was sent.
 * - `busy`: no connection is free, and there is no room to wait for one; nothing was sent.
 * - `closed`: the connection ended before the response did.
 * - `broken`: the response is malformed and can't be forwarded.
 * - `response-timeout`: no head of a response in time.
 * - `idle-timeout`: a body, in either direction, made no progress for too long.
 */
export type FailureKind =
  | "connect"
  | "tls"
  | "connect-timeout"
  | "busy"
  | "closed"
  | "broken"
  | "response-timeout"
  | "idle-timeout";

/** A request that failed. */
export interface UpstreamFailure {
  readonly kind: FailureKind;
  /** For the log: what was seen. Never for the client. */
  readonly detail: string;
  /** Whether a byte of the response had arrived. */
  readonly hasResponse: boolean;
  /** Whether the connection had served before and may have been closed by the backend before the request was sent. */
  readonly isStale: boolean;
}

/** Sends one request over a connection and takes its response. */
export interface UpstreamCaller extends ResponseSink {
  /** The connection accepts more of the request's body. */
  onDrain(): void;
  /** The request failed. Nothing is called afterwards. */
  onFailure(failure: UpstreamFailure): void;
}

/** The failure of a request that was not sent. */
export function notSent(kind: FailureKind, detail: string): UpstreamFailure {
  return { kind, detail, hasResponse: false, isStale: false };
}
