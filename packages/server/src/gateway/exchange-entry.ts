// Where requests enter the gateway: read once and in one form, decided by the door, and then sent on, refused
// or answered. What can't be understood never reaches the rules, and its connection is closed.

import type { IncomingMessage, ServerResponse } from "node:http";
import { type Door, NodeView, Passage, type Reply } from "sluice/http";
import { readMs } from "../clock.js";
import { awaitTurn, isItsTurn } from "../http/turns.js";
import { type Arrival, Exchange, type ExchangeHost } from "./exchange.js";
import { isGone } from "./exchange-end.js";
import { hostOf } from "./exchange-host.js";
import { readFraming } from "./framing.js";
import {
  answer,
  hasMuchLeft,
  isClosing,
  kindOfError,
  type ProblemStatus,
  toProblem,
} from "./replies.js";
import { readTarget } from "./target.js";

/** What the entry needs of the gateway. */
export interface EntryHost extends ExchangeHost {
  readonly door: Door;
  /** Fields of a request. */
  readonly headersMax: number;
  /** Where callers learn how they stand; undefined: nowhere. */
  readonly rateLimitPath: string | undefined;
}

/** Takes requests in. */
export class Entry {
  readonly #host: EntryHost;

  constructor(host: EntryHost) {
    this.#host = host;
  }

  /** @param isExpecting - Whether the client waits for leave to send its body. */
  take(request: IncomingMessage, response: ServerResponse, isExpecting: boolean): void {
    // A connection that is being closed has had its last answer.
    if (isClosing(request.socket)) return;
    if (!isItsTurn(response)) {
      awaitTurn(request, response, () => this.take(request, response, isExpecting));
      return;
    }
    if (this.#host.isDraining) response.shouldKeepAlive = false;
    const arrival = this.#read(request, response, isExpecting);
    if (typeof arrival === "number") answer(request, response, toProblem(arrival), "", true);
    else if (arrival.path === this.#host.rateLimitPath && isAsking(request)) {
      this.#tellStatus(arrival);
    } else this.#decide(arrival);
  }

  /** What a request asks for; the status of the answer if it can't be taken. */
  #read(
    request: IncomingMessage,
    response: ServerResponse,
    isExpecting: boolean,
  ): Arrival | ProblemStatus {
    const { headersMax, bodyBytesMax } = this.#host;
    if (request.rawHeaders.length > 2 * headersMax) return 431;
    const framing = readFraming(request);
    const target = readTarget(request.url ?? "", request.method, hostOf(request));
    if (framing === undefined || target === undefined) return 400;
    const bytes = framing === "length" ? Number(request.headers["content-length"]) : 0;
    if (bodyBytesMax !== 0 && bytes > bodyBytesMax) return 413;
    // What is matched and counted is what is sent on.
    request.url = target.target;
    const hasBody = framing === "chunked" || bytes > 0;
    return { request, response, path: target.path, framing, hasBody, isExpecting };
  }

  #decide(arrival: Arrival): void {
    const startMs = readMs();
    let entered: Passage | Promise<Passage>;
    try {
      entered = this.#host.door.enter(new NodeView(arrival.request));
    } catch (error) {
      this.#fail(arrival, error);
      return;
    }
    if (entered instanceof Passage) this.#goOn(arrival, entered, startMs);
    else {
      entered.then(
        (passage) => this.#goOn(arrival, passage, startMs),
        (error) => this.#fail(arrival, error),
      );
    }
  }

  #goOn(arrival: Arrival, passage: Passage, startMs: number): void {
    const { telemetry } = this.#host;
    telemetry.tookMs("gateway", readMs() - startMs);
    const { refusal } = passage;
    if (refusal === undefined) {
      new Exchange(this.#host, arrival, passage).start();
      return;
    }
    telemetry.refused("gateway", refusal.status);
    this.#answer(arrival, refusal, passage.lines);
  }

  #tellStatus(arrival: Arrival): void {
    void (async () => this.#host.door.status(new NodeView(arrival.request)))().then(
      (reply) => this.#answer(arrival, reply, ""),
      (error) => this.#fail(arrival, error),
    );
  }

  /** Nobody is let in whom the rules could not judge. */
  #fail(arrival: Arrival, error: unknown): void {
    const kind = kindOfError(error);
    // Apart from each other: a store that is away must not hide a fault of ours.
    const what = kind === "store" ? "the store decided nothing" : "a request could not be decided";
    this.#host.telemetry.trouble(what, error);
    this.#answer(arrival, toProblem(kind), "");
  }

  #answer({ request, response, hasBody }: Arrival, reply: Reply, lines: string): void {
    if (isGone(response)) return;
    answer(request, response, reply, lines, hasMuchLeft(request, hasBody));
  }
}

function isAsking({ method }: IncomingMessage): boolean {
  return method === "GET" || method === "HEAD";
}
