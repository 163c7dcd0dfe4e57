// What the shared list of cases needs of a framework: a real server on 127.0.0.1 whose requests pass
// through `rateLimit` and then reach one handler, whatever their method and path. A harness only
// translates the handler's request and reply into the framework's own.

import type { AddressInfo } from "node:net";

/** What handlers find where the framework's requests carry it: `req.rateLimit`, `ctx.state.rateLimit`… */
export interface CaseInfo {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  settle(cost: number): void;
}

/** A request as the handler of a case sees it. */
export interface CaseRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** The whole body, read in the way of the framework. */
  text(): Promise<string>;
  readonly rateLimit: CaseInfo | undefined;
}

/** What the handler of a case answers, or it throws. */
export interface CaseReply {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A whole string, or piece by piece. Default: no body. */
  readonly body?: string | AsyncIterable<string>;
}

/** The one handler behind the limiter. What it throws is left to the framework: a 500. */
export type CaseHandler = (request: CaseRequest) => CaseReply | Promise<CaseReply>;

/** A server that listens. */
export interface RunningServer {
  /** As `http://127.0.0.1:12345`, without a slash at the end. */
  readonly url: string;
  close(): Promise<void>;
}

/** What `rateLimit` is called with: a policy and HTTP options, or the options of the simple case. */
export type LimitArguments = readonly [first: unknown, second?: unknown];

/** One framework. */
export interface FrameworkHarness {
  readonly name: string;
  /** Names of cases that the framework can't have, each with the reason. */
  readonly without?: Readonly<Record<string, string>>;
  /**
   * Starts a server with `rateLimit(...limit)` in front of `handle`, and the framework's status
   * handler of the same arguments at `GET /rate_limit`, before the limiter. The framework's own
   * log of errors is off.
   */
  start(limit: LimitArguments, handle: CaseHandler): Promise<RunningServer>;
}

/** A server of `node:http`, or of anything made of it, as harnesses have it. */
export interface Listener {
  listen(port: number, host: string, done: () => void): unknown;
  address(): AddressInfo | string | null;
  close(done: (error?: Error) => void): unknown;
  closeAllConnections?(): void;
}

/**
 * Handles requests with `Expect: 100-continue` like others, as applications with a listener for 'checkContinue' do:
 * Node then leaves it to them to send `100 Continue`.
 */
export function takeExpecting(server: Emitter): void {
  server.on("checkContinue", (...exchange) => server.emit("request", ...exchange));
}

interface Emitter {
  on(event: string, listener: (...values: unknown[]) => void): unknown;
  emit(event: string, ...values: unknown[]): unknown;
}

/** Listens on a free port of 127.0.0.1. */
export async function listen(server: Listener & Emitter): Promise<RunningServer> {
  takeExpecting(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((done, fail) => {
        server.close((error) => (error === undefined ? done() : fail(error)));
        server.closeAllConnections?.();
      }),
  };
}

/** A body as fetch handlers answer it. */
export function toBody(body: CaseReply["body"]): string | ReadableStream<Uint8Array> | null {
  if (body === undefined || typeof body === "string") return body ?? null;
  const encoder = new TextEncoder();
  return new ReadableStream({
    async start(controller) {
      for await (const piece of body) controller.enqueue(encoder.encode(piece));
      controller.close();
    },
  });
}
