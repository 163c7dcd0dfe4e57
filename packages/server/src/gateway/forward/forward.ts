// One admitted request on its way: to a backend of its upstream, to another if that is safe, and back to the
// client, piece by piece and no faster than the client reads. Whatever happens, what the handled request holds is
// finished exactly once, and a response that was cut short never looks whole.

import type { HandledRequest } from "sluice/http";
import type { RequestEnd } from "sluice/rules";
import type { Asked, Exchange, ExchangeWatcher, RefusalStatus, ResponseHead } from "sluice-http1";
import type { RouteConfig } from "../../config/config.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import { answer, type ProblemStatus, toProblem } from "../gateway-replies.js";
import type { Backend } from "../upstream/backend.js";
import type { Connection } from "../upstream/connection.js";
import type { Upstream } from "../upstream/upstream.js";
import type { Caller, Failure } from "../upstream/upstream-caller.js";
import { type BodyWatcher, ForwardedBody } from "./forward-body.js";
import { isRepeatable, mayGoElsewhere, statusOf } from "./forward-failure.js";
import { type ClientTrust, toUpstreamHead } from "./request-head.js";
import { clientHeadOf, findField } from "./response-head.js";

/** What exchanges need of their gateway. */
export interface ForwardingHost extends ClientTrust {
  readonly telemetry: Telemetry;
  readonly bodyBytesMax: number;
  /** The way of a path; undefined if there is none. */
  routeOf(path: string, host: string | undefined): RouteConfig | undefined;
  upstreamOf(route: RouteConfig): Upstream;
}

/** A body that is there at once and no larger goes out in one text with its head. */
const JOINED_BYTES_MAX = 16_384;
/** Bytes of a body that a request has to bring along before it takes a connection that is scarce. */
const AHEAD_BYTES = 16_384;

/** One request and its response. */
export class Forwarding implements Caller, BodyWatcher, ExchangeWatcher {
  readonly #host: ForwardingHost;
  readonly #exchange: Exchange;
  readonly #path: string;
  readonly #handled: HandledRequest;
  #route: RouteConfig | undefined = undefined;
  #upstream: Upstream | undefined = undefined;
  #backend: Backend | undefined = undefined;
  #connection: Connection | undefined = undefined;
  #body: ForwardedBody | undefined = undefined;
  #head: ResponseHead | undefined = undefined;
  /** Whether the head is here and not passed on yet. */
  #isHeadKept = false;
  #bytes = 0;
  #retries = 0;
  /** Whether a connection that had gone stale was replaced already. */
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

  /** Sends the request on, as soon as its handled request allows. */
  start(): void {
    if (this.#exchange.isGone) {
      this.onExchangeOver();
      return;
    }
    this.#exchange.watcher = this;
    const waited = this.#handled.waited();
    if (waited === true) this.#goOn();
    else void Promise.resolve(waited).then((mayGoOn) => mayGoOn && this.#goOn());
  }

  onExchangeOver(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#backend?.pool.leave(this);
    if (this.#isSwitched) this.#connection?.end();
    else this.#letGo();
    if (this.#head === undefined) this.#backend?.ended();
    if (this.#handled.isHeld) void this.#handled.finish(this.#toEnd());
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

  onConnection(connection: Connection): void {
    const { body, fields } = this.#exchange;
    this.#connection = connection;
    const head = toUpstreamHead(
      this.#exchange,
      this.#route as RouteConfig,
      (this.#backend as Backend).authority,
      this.#host,
    );
    connection.send(head, this, body === undefined, askedOf(this.#exchange));
    if (body === undefined) return;
    const isChunked = fields.framing === "chunked";
    this.#body = new ForwardedBody(body, isChunked, this.#host.bodyBytesMax, this);
    this.#body.start(connection);
  }

  onHead(head: ResponseHead, hasMore: boolean): void {
    if (this.#isOver) return;
    this.#head = head;
    this.#backend?.succeeded();
    this.#tell("answered");
    // Goes out with the first of its body. Until then the client can be told that there is none.
    this.#isHeadKept = true;
    if (head.status === 101) this.#switch(head);
    else if (!hasMore) this.#begin(head);
  }

  onBody(bytes: Buffer, from: number, to: number): void {
    if (this.#isOver) return;
    if (this.#isHeadKept) this.#begin(this.#head as ResponseHead);
    this.#bytes += to - from;
    const isReady = this.#exchange.write(copyOf(bytes, from, to));
    if (isReady || this.#isPaused) return;
    this.#isPaused = true;
    this.#connection?.pause();
  }

  onEnd(bytes: Buffer, from: number, to: number): void {
    this.#connection = undefined;
    if (this.#isOver) return;
    // The upstream may answer before it has the whole request.
    this.#body?.drop();
    this.#bytes += to - from;
    const { idleTimeoutMs } = this.#upstream as Upstream;
    const exchange = this.#exchange;
    // A client that does not read the last piece gets as long for it as for any other.
    if (idleTimeoutMs > 0) exchange.flushMsMax = idleTimeoutMs;
    if (!this.#handled.isHeld) exchange.watcher = undefined;
    if (this.#isHeadKept && to > from && to - from <= JOINED_BYTES_MAX) {
      this.#pass(this.#head as ResponseHead, bytes.toString("latin1", from, to));
      return;
    }
    if (this.#isHeadKept) this.#begin(this.#head as ResponseHead);
    if (to > from) exchange.write(copyOf(bytes, from, to));
    exchange.end();
  }

  onDrain(): void {
    this.#body?.onDrain();
  }

  onFailure(failure: Failure): void {
    this.#connection = undefined;
    if (this.#isOver) return;
    if (this.#isSwitched) {
      this.#exchange.breakOff();
      return;
    }
    this.#judge(failure);
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

  #begin(head: ResponseHead): void {
    this.#isHeadKept = false;
    const { status, reason, length } = head;
    const { hasDate } = clientHeadOf(head);
    this.#exchange.begin(status, reason, this.#linesOf(head), length, hasDate);
  }

  /** From now on both connections are one WebSocket: each direction is forwarded as a body is. */
  #switch(head: ResponseHead): void {
    this.#isHeadKept = false;
    this.#isSwitched = true;
    const body = this.#exchange.switchToWebSocket(head.reason, this.#linesOf(head));
    this.#body = new ForwardedBody(body, false, 0, this);
    this.#body.start(this.#connection as Connection);
  }

  /** All of a response that is short. */
  #pass(head: ResponseHead, text: string): void {
    this.#isHeadKept = false;
    const { status, reason } = head;
    this.#exchange.pass(status, reason, this.#linesOf(head), text, clientHeadOf(head).hasDate);
  }

  /** The RateLimit fields replace the upstream's; without a rule those of the upstream stay. */
  #linesOf(head: ResponseHead): string {
    const { lines, linesBesideOurs } = clientHeadOf(head);
    const { lines: ours } = this.#handled;
    return ours === "" ? lines : ours + linesBesideOurs;
  }

  #goOn(): void {
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
    const { body } = exchange;
    exchange.sendContinue();
    // Where connections are scarce, a client that is slow with its body waits with its own.
    if (body === undefined || !upstream.isCrowded) this.#attempt(upstream.choose());
    else {
      body.whenHeld(AHEAD_BYTES, () => {
        if (!this.#isOver && !body.isDropped) this.#attempt(upstream.choose());
      });
    }
  }

  #attempt(backend: Backend): void {
    this.#backend = backend;
    const free = backend.pool.take();
    if (free === undefined) backend.pool.wait(this);
    else this.onConnection(free);
  }

  /** Whether it was the client that did not go on: with its body, or with reading ours. */
  #isClients({ kind }: Failure): boolean {
    return kind === "idle-timeout" && (this.#isPaused || this.#body?.isAwaited === true);
  }

  /** Blames the backend, if it is to blame. */
  #judge(failure: Failure): void {
    const isBlamed = !failure.isStale && failure.kind !== "busy" && !this.#isClients(failure);
    if (!isBlamed) this.#backend?.ended();
    else this.#upstream?.failed(this.#backend as Backend);
  }

  /** A connection that had gone stale says nothing of its backend: once, a fresh one is tried. */
  #mayRefresh({ isStale }: Failure): boolean {
    return isStale && !this.#isRefreshed && isRepeatable(this.#exchange);
  }

  #refresh(): void {
    this.#isRefreshed = true;
    this.#backend?.begin();
    this.#backend?.pool.wait(this);
  }

  #mayRetry(failure: Failure): boolean {
    const { retriesMax, backends } = this.#upstream as Upstream;
    if (this.#retries >= retriesMax || backends.length < 2) return false;
    return mayGoElsewhere(failure, this.#exchange);
  }

  #retry(): void {
    this.#retries++;
    this.#tell("retried");
    this.#attempt((this.#upstream as Upstream).choose(this.#backend));
  }

  #fail(failure: Failure): void {
    const { kind, detail } = failure;
    const status = statusOf(failure, this.#isClients(failure));
    this.#tell(kind === "busy" ? "busy" : status === 504 ? "timed-out" : "failed");
    const { authority: backend } = this.#backend as Backend;
    const upstream = this.#upstream?.name;
    // Apart for each kind and upstream, so that none hides another.
    const fields = { upstream, backend, kind, detail };
    this.#host.telemetry.problem(`upstream ${upstream} failed: ${kind}`, undefined, fields);
    this.#reply(status, false);
  }

  /** The head is out: only a broken connection can still say that the rest does not come. */
  #cutOff(): void {
    this.#tell("failed");
    this.#exchange.breakOff();
  }

  #reply(status: ProblemStatus, closes: boolean): void {
    this.#body?.drop();
    const exchange = this.#exchange;
    if (exchange.isGone) return;
    answer(exchange, toProblem(status), this.#handled.lines, closes);
  }

  /** Gives up the connection, if there is one: what is under way on it concerns nobody any more. */
  #letGo(): void {
    this.#body?.drop();
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  /** How the request ended. Without a head there was no response: the client hung up before. */
  #toEnd(): RequestEnd {
    const { status } = this.#exchange;
    if (status === undefined) return {};
    const head = this.#head;
    const header = (name: string) => (head === undefined ? undefined : findField(head, name));
    return { status, bytes: this.#bytes, header };
  }

  #tell(outcome: Parameters<Telemetry["upstream"]>[1]): void {
    this.#host.telemetry.upstream(this.#upstream?.name ?? "", outcome);
  }
}

function askedOf(exchange: Exchange): Asked {
  if (exchange.method === "HEAD") return "head";
  return exchange.asksForWebSocket ? "websocket" : "resource";
}

/** Bytes are lent by the connection until the next ones arrive. */
function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  return Buffer.from(bytes.subarray(from, to));
}
