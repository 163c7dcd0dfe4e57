// Forwards one allowed request: to a backend of its upstream, to another one if that is safe, and the response back to the
// client, piece by piece and no faster than the client reads. Whatever happens, the charges that the handled request holds
// are settled exactly once, and a response that was cut short never looks complete.

import type { MaybePromise } from "sluice";
import type { BodyMeter, HandledRequest } from "sluice/http";
import type { Exchange, ExchangeWatcher, RefusalStatus, ResponseHead } from "sluice-http1";
import type { RouteConfig } from "../../config/config.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import { answer, type ProblemStatus, toProblem } from "../gateway-replies.js";
import type { LoadShedder } from "../shedding/load-shedder.js";
import { GatePass } from "../shedding/upstream-gate.js";
import type { Backend } from "../upstream/backend.js";
import type { UpstreamConnection } from "../upstream/connection.js";
import type { WaitingCaller } from "../upstream/connection-pool.js";
import type { Upstream } from "../upstream/upstream.js";
import type { UpstreamFailure } from "../upstream/upstream-caller.js";
import { type BodyWatcher, copyOf, ForwardedBody } from "./forward-body.js";
import { isRepeatable, isUnclear, mayGoElsewhere, statusOf } from "./forward-failure.js";
import { toMeter, toRequestEnd } from "./request-end.js";
import { type ClientTrust, requestKindOf, toUpstreamHead } from "./request-head.js";
import { beginResponse, linesOf, passResponse } from "./response-head.js";

/** What forwarding needs from the gateway. */
export interface ForwardingHost extends ClientTrust {
  readonly telemetry: Telemetry;
  readonly bodyBytesMax: number;
  /** The route of a path; undefined if there is none. */
  routeOf(path: string, host: string | undefined): RouteConfig | undefined;
  upstreamOf(route: RouteConfig): Upstream;
  /** Sheds load; undefined if the configuration does not ask for it. */
  readonly shedder: LoadShedder | undefined;
}

/** A body of at most this size that has arrived with its head is written together with it. */
const JOINED_BYTES_MAX = 16_384;
/** Bytes of its body that must have arrived before a request takes what is scarce: a connection, or a place. */
const AHEAD_BYTES = 16_384;

/** Forwards one request and its response. */
export class Forwarding implements WaitingCaller, BodyWatcher, ExchangeWatcher {
  readonly #host: ForwardingHost;
  readonly #exchange: Exchange;
  readonly #path: string;
  readonly #handled: HandledRequest;
  #route: RouteConfig | undefined = undefined;
  #upstream: Upstream | undefined = undefined;
  #backend: Backend | undefined = undefined;
  /** What it reports to how it ended, where load is shed. */
  #gatePass: GatePass | undefined = undefined;
  #connection: UpstreamConnection | undefined = undefined;
  #body: ForwardedBody | undefined = undefined;
  #head: ResponseHead | undefined = undefined;
  /** Whether the head has arrived and is not passed on yet. */
  #isHeadKept = false;
  #bytes = 0;
  /** Reads the response's body, if a rule settles by it. */
  #meter: BodyMeter | undefined = undefined;
  #retries = 0;
  /** Whether a stale connection was already replaced. */
  #isRefreshed = false;
  #isPaused = false;
  /** Whether it became a WebSocket. */
  #isSwitched = false;
  #isOver = false;

  /** @param path - In canonical form, without the query. */
  constructor(host: ForwardingHost, exchange: Exchange, path: string, handled: HandledRequest) {
    this.#host = host;
    this.#exchange = exchange;
    this.#path = path;
    this.#handled = handled;
  }

  /**
   * Forwards the request, after the delay that its decision asks for. With a delay it returns a promise, which rejects
   * with what would be thrown without one.
   */
  start(): Promise<void> | undefined {
    if (this.#exchange.isGone) {
      this.onExchangeOver();
      return undefined;
    }
    this.#exchange.watcher = this;
    const waited = this.#handled.waited();
    if (waited !== true) return this.#startLater(waited);
    this.#routeAndAttempt();
    return undefined;
  }

  onExchangeOver(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#gatePass?.left();
    this.#backend?.pool.leave(this);
    if (this.#isSwitched) this.#connection?.end();
    else this.#letGo();
    if (this.#head === undefined) this.#backend?.ended();
    if (!this.#handled.isHeld) return;
    void this.#handled.finish(toRequestEnd(this.#exchange, this.#head, this.#bytes, this.#meter));
  }

  onBodyBroken(status: RefusalStatus): void {
    this.#backend?.ended();
    this.#letGo();
    this.#reply(status, true);
  }

  onClientReady(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#connection?.resume();
  }

  onConnection(connection: UpstreamConnection): void {
    const { body, fields } = this.#exchange;
    this.#connection = connection;
    const head = toUpstreamHead(
      this.#exchange,
      this.#route as RouteConfig,
      (this.#backend as Backend).authority,
      this.#host,
      this.#handled.isHeld && this.#handled.needsBody,
    );
    connection.send(head, this, body === undefined, requestKindOf(this.#exchange));
    if (body === undefined) return;
    const isChunked = fields.framing === "chunked";
    this.#body = new ForwardedBody(body, isChunked, this.#host.bodyBytesMax, this);
    this.#body.start(connection);
  }

  onHead(head: ResponseHead, hasMore: boolean): void {
    if (this.#isOver) return;
    this.#head = head;
    if (this.#handled.isHeld) this.#meter = toMeter(this.#handled, head);
    this.#backend?.succeeded();
    this.#gatePass?.answered(head.status);
    this.#report("answered");
    // The head goes out with the first piece of its body. Until then the client can still get a 502.
    this.#isHeadKept = true;
    if (head.status === 101) this.#switch(head);
    else if (!hasMore) this.#begin(head);
  }

  onBody(bytes: Buffer, from: number, to: number): void {
    if (this.#isOver) return;
    if (this.#isHeadKept) this.#begin(this.#head as ResponseHead);
    this.#bytes += to - from;
    this.#meter?.read(bytes, from, to);
    const isReady = this.#exchange.write(copyOf(bytes, from, to));
    if (isReady || this.#isPaused) return;
    this.#isPaused = true;
    this.#connection?.pause();
  }

  onEnd(bytes: Buffer, from: number, to: number): void {
    this.#connection = undefined;
    if (this.#isOver) return;
    // The backend may answer before it has the whole request.
    this.#body?.drop();
    this.#bytes += to - from;
    this.#meter?.read(bytes, from, to);
    this.#meter?.end();
    const { idleTimeoutMs } = this.#upstream as Upstream;
    const exchange = this.#exchange;
    // The client has as long for the last piece as for any other.
    if (idleTimeoutMs > 0) exchange.flushMsMax = idleTimeoutMs;
    if (!this.#handled.isHeld) exchange.watcher = undefined;
    if (this.#isHeadKept && to > from && to - from <= JOINED_BYTES_MAX) {
      this.#isHeadKept = false;
      const text = bytes.toString("latin1", from, to);
      passResponse(exchange, this.#head as ResponseHead, this.#handled.lines, text);
      return;
    }
    if (this.#isHeadKept) this.#begin(this.#head as ResponseHead);
    if (to > from) exchange.write(copyOf(bytes, from, to));
    exchange.end();
  }

  onDrain(): void {
    this.#body?.onDrain();
  }

  onFailure(failure: UpstreamFailure): void {
    this.#connection = undefined;
    if (this.#isOver) return;
    if (this.#isSwitched) {
      this.#exchange.breakOff();
      return;
    }
    this.#recordFailure(failure);
    if (this.#isHeadKept) this.#head = undefined;
    if (this.#head !== undefined) this.#cutOff();
    else if (this.#mayRefresh(failure)) this.#refresh();
    else if (this.#mayRetry(failure)) this.#retry();
    else this.#fail(failure);
  }

  onBodyTooLarge(): void {
    const exchange = this.#exchange;
    if (exchange.isEnded) return;
    this.#backend?.ended();
    this.#letGo();
    if (exchange.isAnswered) exchange.breakOff();
    else this.#reply(413, true);
  }

  onBodySent(): void {
    this.#gatePass?.bodySent();
  }

  #begin(head: ResponseHead): void {
    this.#isHeadKept = false;
    beginResponse(this.#exchange, head, this.#handled.lines);
  }

  /** From now on both connections are one WebSocket: each direction is forwarded like a body. */
  #switch(head: ResponseHead): void {
    this.#isHeadKept = false;
    this.#isSwitched = true;
    const lines = linesOf(head, this.#handled.lines);
    const body = this.#exchange.switchToWebSocket(head.reason, lines);
    this.#body = new ForwardedBody(body, false, 0, this);
    this.#body.start(this.#connection as UpstreamConnection);
  }

  async #startLater(waited: MaybePromise<boolean>): Promise<void> {
    if (await waited) this.#routeAndAttempt();
  }

  #routeAndAttempt(): void {
    const exchange = this.#exchange;
    if (this.#isOver) return;
    const route = this.#host.routeOf(this.#path, exchange.fields.host);
    if (route === undefined) {
      this.#reply(404, false);
      return;
    }
    this.#route = route;
    const upstream = this.#host.upstreamOf(route);
    this.#upstream = upstream;
    const { shedder } = this.#host;
    const isGated = shedder?.isBefore(route) === true;
    const go = () => {
      if (!isGated || !this.#isShed(shedder, route)) this.#attempt(upstream.choose());
    };
    const { body } = exchange;
    exchange.sendContinue();
    // Where load is shed, or connections are scarce, a request waits for its body before it takes a place from others.
    if (body === undefined || !(isGated || upstream.isCrowded)) go();
    else
      body.whenHeld(AHEAD_BYTES, () => {
        if (!this.#isOver && !body.isDropped) go();
      });
  }

  /** Whether there is no room for the request. It is answered then, and what it was charged is refunded. */
  #isShed(shedder: LoadShedder, route: RouteConfig): boolean {
    const passed = shedder.enter(route, this.#exchange, this.#path, this.#handled);
    if (passed === undefined) return false;
    if (passed instanceof GatePass) {
      this.#gatePass = passed;
      return false;
    }
    void this.#handled.decision.abandon();
    if (!this.#exchange.isGone) answer(this.#exchange, passed, "", false);
    return true;
  }

  #attempt(backend: Backend): void {
    this.#backend = backend;
    const free = backend.pool.take();
    if (free === undefined) backend.pool.wait(this);
    else this.onConnection(free);
  }

  /** Whether the client caused the failure: it stopped sending its body, or reading the response. */
  #isClientFault({ kind }: UpstreamFailure): boolean {
    return kind === "idle-timeout" && (this.#isPaused || this.#body?.isAwaited === true);
  }

  /** Counts a failure against the backend, if it caused it. */
  #recordFailure(failure: UpstreamFailure): void {
    const isExcused = this.#isClientFault(failure) || isUnclear(failure, this.#exchange);
    if (isExcused || failure.isStale || failure.kind === "busy") this.#backend?.ended();
    else this.#upstream?.failed(this.#backend as Backend);
  }

  /** A stale connection says nothing about its backend: a new one is tried, once. */
  #mayRefresh({ isStale }: UpstreamFailure): boolean {
    return isStale && !this.#isRefreshed && isRepeatable(this.#exchange);
  }

  #refresh(): void {
    this.#isRefreshed = true;
    this.#backend?.begin();
    this.#backend?.pool.wait(this);
  }

  #mayRetry(failure: UpstreamFailure): boolean {
    const { retriesMax, backends } = this.#upstream as Upstream;
    if (this.#retries >= retriesMax || backends.length < 2) return false;
    return mayGoElsewhere(failure, this.#exchange);
  }

  #retry(): void {
    this.#retries++;
    this.#report("retried");
    this.#attempt((this.#upstream as Upstream).choose(this.#backend));
  }

  #fail(failure: UpstreamFailure): void {
    const { kind, detail } = failure;
    const isClientFault = this.#isClientFault(failure);
    const status = statusOf(failure, isClientFault);
    if (isClientFault || isUnclear(failure, this.#exchange)) this.#gatePass?.left();
    else this.#gatePass?.failed(failure);
    this.#report(kind === "busy" ? "busy" : status === 504 ? "timed-out" : "failed");
    const { authority: backend } = this.#backend as Backend;
    const upstream = this.#upstream?.name;
    // One line of the log for each kind and upstream, so that none hides another.
    const fields = { upstream, backend, kind, detail };
    this.#host.telemetry.problem(`upstream ${upstream} failed: ${kind}`, undefined, fields);
    this.#reply(status, false);
  }

  /** The head is sent: only a broken connection can still show that the response is incomplete. */
  #cutOff(): void {
    this.#report("failed");
    this.#exchange.breakOff();
  }

  #reply(status: ProblemStatus, closes: boolean): void {
    this.#body?.drop();
    const exchange = this.#exchange;
    if (exchange.isGone) return;
    answer(exchange, toProblem(status), this.#handled.lines, closes);
  }

  /** Drops the connection, if there is one: its response is no longer needed. */
  #letGo(): void {
    this.#body?.drop();
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  #report(outcome: Parameters<Telemetry["upstream"]>[1]): void {
    this.#host.telemetry.upstream(this.#upstream?.name ?? "", outcome);
  }
}
