// Who sends a request to an upstream: what it is told, and what can go wrong.

import type { ResponseSink } from "sluice-http1";
import type { Connection } from "./connection.js";

/**
 * Why there is no response, or not all of it:
 * - `connect`: no connection; nothing was sent.
 * - `tls`: the TLS handshake failed, as with a certificate that does not verify; nothing was sent.
 * - `connect-timeout`: no connection in time; nothing was sent.
 * - `busy`: no connection is free and no room to wait for one; nothing was sent.
 * - `closed`: the connection ended before the response did.
 * - `broken`: what came is no response that can be passed on.
 * - `response-timeout`: no head of a response in time.
 * - `idle-timeout`: a body, either way, that stood still for too long.
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
export interface Failure {
  readonly kind: FailureKind;
  /** For the log: what was seen. Never for the client. */
  readonly detail: string;
  /** Whether a byte of the response had arrived. */
  readonly hasResponse: boolean;
  /** Whether it was the first to fail on a connection that had served before and may have been gone. */
  readonly isStale: boolean;
}

/** Sends one request and takes its response. */
export interface Caller extends ResponseSink {
  /** A connection that was waited for is here. */
  onConnection(connection: Connection): void;
  /** The connection takes more of the request's body. */
  onDrain(): void;
  /** Nothing comes after it. */
  onFailure(failure: Failure): void;
}

/** The failure of a request that was not sent. */
export function notSent(kind: FailureKind, detail: string): Failure {
  return { kind, detail, hasResponse: false, isStale: false };
}
