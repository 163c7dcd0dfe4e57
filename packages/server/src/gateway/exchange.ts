// One admitted request on its way: to a target of its upstream, to another if that is safe, and back to the
// client, piece by piece and no faster than the client reads. Whatever happens, what the passage holds is
// finished exactly once, and a response that was cut short never looks whole.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Passage } from "sluice/http";
import type { RequestEnd } from "sluice/rules";
import { after } from "../clock.js";
import type { RouteConfig } from "../config/config.js";
import { cutOff } from "../http1/cut-off.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { Caller, Failure } from "../upstream/caller.js";
import type { Connection } from "../upstream/connection.js";
import type { ResponseHead } from "../upstream/response-head.js";
import type { Target } from "../upstream/target.js";
import type { Upstream } from "../upstream/upstream.js";
import { whenBodyIsAhead } from "./body-ahead.js";
import { type BodyWatcher, RequestBody } from "./exchange-body.js";
import { isGone, watchEnd } from "./exchange-end.js";
import { isRepeatable, mayGoElsewhere, statusOf } from "./exchange-failure.js";
import { findField, passHead } from "./exchange-head.js";
import { hostOf } from "./exchange-host.js";
import { endWithText } from "./exchange-text.js";
import { toUpstreamHead } from "./forwarding.js";
import type { BodyFraming } from "./framing.js";
import { answer, hasMuchLeft, type ProblemStatus, toProblem } from "./replies.js";

/** What exchanges need of their gateway. */
export interface ExchangeHost {
  readonly telemetry: Telemetry;
  readonly bodyBytesMax: number;
  readonly protocol: "http" | "https";
  /** Whether connections are closed after their response. */
  readonly isDraining: boolean;
  isPeerTrusted(peer: string | undefined): boolean;
  /** The way of a path; undefined if there is none. */
  routeOf(path: string, host: string | undefined): RouteConfig | undefined;
  upstreamOf(route: RouteConfig): Upstream;
}

/** A request as it came in. */
export interface Arrival {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** In canonical form, without the query. */
  readonly path: string;
  readonly framing: BodyFraming;
  readonly hasBody: boolean;
  /** Whether the client waits for leave to send its body. */
  readonly isExpecting: boolean;
}

/** A body that is there at once and no larger goes out in one text with its head. */
const JOINED_BYTES_MAX = 16_384;

/** One request and its response. */
export class Exchange implements Caller, BodyWatcher {
  readonly #host: ExchangeHost;
  readonly #arrival: Arrival;
  readonly #passage: Passage;
  #route: RouteConfig | undefined = undefined;
  #upstream: Upstream | undefined = undefined;
  #target: Target | undefined = undefined;
  #connection: Connection | undefined = undefined;
  #body: RequestBody | undefined = undefined;
  #head: ResponseHead | undefined = undefined;
  /** Whether the head is here and not passed on yet. */
  #isHeadKept = false;
  #bytes = 0;
  #retries = 0;
  /** Whether a connection that had gone stale was replaced already. */
  #isRefreshed = false;
  #isPaused = false;
  #listensForDrain = false;
  #isOver = false;

  constructor(host: ExchangeHost, arrival: Arrival, passage: Passage) {
    this.#host = host;
    this.#arrival = arrival;
    this.#passage = passage;
  }

  /** Sends the request on, as soon as its passage allows. */
  start(): void {
    const { response } = this.#arrival;
    if (isGone(response)) {
      this.onResponseClosed();
      return;
    }
    watchEnd(response, this);
    const waited = this.#passage.waited();
    if (waited === true) this.#goOn();
    else void Promise.resolve(waited).then((mayGoOn) => mayGoOn && this.#goOn());
  }

  /** The response is out, or the client is gone. */
  onResponseClosed(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#target?.pool.leave(this);
    this.#letGo();
    if (this.#head === undefined) this.#target?.ended();
    if (this.#passage.isHeld) void this.#passage.finish(this.#toEnd());
  }

  onConnection(connection: Connection): void {
    const { request, framing, hasBody } = this.#arrival;
    this.#connection = connection;
    connection.send(this.#toHead(), this, !hasBody, request.method === "HEAD");
    if (!hasBody) return;
    this.#body = new RequestBody(request, framing === "chunked", this.#host.bodyBytesMax, this);
    this.#body.start(connection);
  }

  onHead(head: ResponseHead, hasMore: boolean): void {
    if (this.#isOver) return;
    this.#head = head;
    this.#target?.succeeded();
    this.#tell("answered");
    // Goes out with the first of its body. Until then the client can be told that there is none.
    this.#isHeadKept = true;
    if (!hasMore) this.#passHead(head).flushHeaders();
  }

  onBody(bytes: Buffer, from: number, to: number): void {
    if (this.#isOver) return;
    if (this.#isHeadKept) this.#passHead(this.#head as ResponseHead);
    this.#bytes += to - from;
    const isReady = this.#arrival.response.write(copyOf(bytes, from, to));
    if (!isReady && !this.#isPaused) this.#pause();
  }

  onEnd(bytes: Buffer, from: number, to: number): void {
    this.#connection = undefined;
    if (this.#isOver) return;
    // The upstream may answer before it has the whole request.
    this.#body?.drop();
    const { response } = this.#arrival;
    if (this.#isHeadKept) this.#passHead(this.#head as ResponseHead);
    const isFirst = this.#bytes === 0;
    this.#bytes += to - from;
    if (to === from) response.end();
    else if (isFirst && to - from <= JOINED_BYTES_MAX) {
      endWithText(response, bytes.toString("latin1", from, to));
    } else response.end(copyOf(bytes, from, to));
    if (response.writableLength > 0) this.#boundLast(response);
  }

  onDrain(): void {
    this.#body?.onDrain();
  }

  onFailure(failure: Failure): void {
    this.#connection = undefined;
    if (this.#isOver) return;
    this.#judge(failure);
    if (this.#isHeadKept) this.#head = undefined;
    if (this.#head !== undefined) this.#cutOff();
    else if (this.#mayRefresh(failure)) this.#refresh();
    else if (this.#mayRetry(failure)) this.#retry();
    else this.#fail(failure);
  }

  onBodyTooLarge(): void {
    const { response } = this.#arrival;
    if (response.writableEnded) return;
    this.#target?.ended();
    this.#letGo();
    if (response.headersSent) response.destroy();
    else this.#reply(413, true);
  }

  #passHead(head: ResponseHead): ServerResponse {
    this.#isHeadKept = false;
    const { response } = this.#arrival;
    if (this.#host.isDraining) response.shouldKeepAlive = false;
    passHead(response, head, this.#passage.lines);
    return response;
  }

  #goOn(): void {
    const { request, response, path, hasBody, isExpecting } = this.#arrival;
    if (this.#isOver) return;
    const route = this.#host.routeOf(path, hostOf(request));
    if (route === undefined) {
      this.#reply(404, false);
      return;
    }
    this.#route = route;
    const upstream = this.#host.upstreamOf(route);
    this.#upstream = upstream;
    if (hasBody && isExpecting) response.writeContinue();
    const go = () => {
      if (!this.#isOver) this.#attempt(upstream.choose());
    };
    // Where connections are scarce, a client that is slow with its body waits with its own.
    if (hasBody && upstream.isCrowded) whenBodyIsAhead(request, go);
    else go();
  }

  #attempt(target: Target): void {
    this.#target = target;
    const free = target.pool.take();
    if (free === undefined) target.pool.wait(this);
    else this.onConnection(free);
  }

  #toHead(): string {
    const { request, framing } = this.#arrival;
    const { remoteAddress: clientPeer } = request.socket;
    return toUpstreamHead(request, {
      target: request.url ?? "/",
      route: this.#route as RouteConfig,
      targetHost: (this.#target as Target).authority,
      clientPeer,
      isPeerTrusted: this.#host.isPeerTrusted(clientPeer),
      protocol: this.#host.protocol,
      bodyFraming: framing,
    });
  }

  /** Whether it was the client that did not go on: with its body, or with reading ours. */
  #isClients({ kind }: Failure): boolean {
    return kind === "idle-timeout" && (this.#isPaused || this.#isWaitingForBody());
  }

  /** Blames the target, if it is to blame. */
  #judge(failure: Failure): void {
    const isBlamed = !failure.isStale && failure.kind !== "busy" && !this.#isClients(failure);
    if (!isBlamed) this.#target?.ended();
    else this.#upstream?.failed(this.#target as Target);
  }

  /** A connection that had gone stale says nothing of its target: once, a fresh one is tried. */
  #mayRefresh({ isStale }: Failure): boolean {
    return isStale && !this.#isRefreshed && isRepeatable(this.#arrival);
  }

  #refresh(): void {
    this.#isRefreshed = true;
    this.#target?.begin();
    this.#target?.pool.wait(this);
  }

  #mayRetry(failure: Failure): boolean {
    const { retriesMax, targets } = this.#upstream as Upstream;
    if (this.#retries >= retriesMax || targets.length < 2) return false;
    return mayGoElsewhere(failure, this.#arrival);
  }

  #retry(): void {
    this.#retries++;
    this.#tell("retried");
    this.#attempt((this.#upstream as Upstream).choose(this.#target));
  }

  #fail(failure: Failure): void {
    const { kind, detail } = failure;
    const status = statusOf(failure, this.#isClients(failure));
    this.#tell(kind === "busy" ? "busy" : status === 504 ? "timed-out" : "failed");
    const { authority: target } = this.#target as Target;
    const upstream = this.#upstream?.name;
    // Apart for each kind and upstream, so that none hides another.
    const fields = { upstream, target, kind, detail };
    this.#host.telemetry.trouble(`upstream ${upstream} failed: ${kind}`, undefined, fields);
    this.#reply(status, false);
  }

  /** The head is out: only a broken connection can still say that the rest does not come. */
  #cutOff(): void {
    this.#tell("failed");
    const { response } = this.#arrival;
    // Where the end of the connection is the end of the body, the end must not look like one.
    if (response.req.httpVersionMinor === 0 && response.socket !== null) cutOff(response.socket);
    response.destroy();
  }

  #isWaitingForBody(): boolean {
    return this.#body !== undefined && !this.#arrival.request.complete && !this.#body.isHeldUp;
  }

  #reply(status: ProblemStatus, closes: boolean): void {
    this.#body?.drop();
    const { request, response, hasBody } = this.#arrival;
    if (this.#host.isDraining) response.shouldKeepAlive = false;
    const isClosed = closes || hasMuchLeft(request, hasBody);
    answer(request, response, toProblem(status), this.#passage.lines, isClosed);
  }

  #pause(): void {
    this.#isPaused = true;
    this.#connection?.pause();
    if (this.#listensForDrain) return;
    this.#listensForDrain = true;
    this.#arrival.response.on("drain", () => this.#resume());
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#connection?.resume();
  }

  /** A client that does not read the last piece gets as long for it as for any other. */
  #boundLast(response: ServerResponse): void {
    const { idleTimeoutMs } = this.#upstream as Upstream;
    if (idleTimeoutMs > 0)
      response.once(
        "close",
        after(idleTimeoutMs, () => response.destroy()),
      );
  }

  /** Gives up the connection, if there is one: what is under way on it concerns nobody any more. */
  #letGo(): void {
    this.#body?.drop();
    this.#connection?.destroy();
    this.#connection = undefined;
  }

  /** How the request ended. Without a head there was no response: the client hung up before. */
  #toEnd(): RequestEnd {
    const { response } = this.#arrival;
    if (!response.headersSent) return {};
    const head = this.#head;
    const header = (name: string) => (head === undefined ? undefined : findField(head, name));
    return { status: response.statusCode, bytes: this.#bytes, header };
  }

  #tell(outcome: Parameters<Telemetry["upstream"]>[1]): void {
    this.#host.telemetry.upstream(this.#upstream?.name ?? "", outcome);
  }
}

/** Bytes are lent by the connection until the next ones arrive. */
function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  return Buffer.from(bytes.subarray(from, to));
}
