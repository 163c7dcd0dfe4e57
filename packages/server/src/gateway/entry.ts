// Where requests enter the gateway: put into one form, decided by the door, and then sent on, refused or
// answered. What can't be understood never reaches the rules, and its connection is closed.

import { type Door, Passage, type Reply } from "sluice/http";
import { readMs } from "../base/clock.js";
import { readTarget, type Target } from "../base/http/request-target.js";
import type { Turn } from "../http1/exchange.js";
import { Exchange, type ExchangeHost } from "./forward/forward.js";
import { answer, kindOfError, type ProblemStatus, toProblem } from "./gateway-replies.js";
import { TurnView } from "./gateway-request.js";

/** What the entry needs of the gateway. */
export interface EntryHost extends ExchangeHost {
  readonly door: Door;
  /** Where callers learn how they stand; undefined: nowhere. */
  readonly rateLimitPath: string | undefined;
}

/** Takes requests in. */
export class Entry {
  readonly #host: EntryHost;

  constructor(host: EntryHost) {
    this.#host = host;
  }

  take(turn: Turn): void {
    const target = readTarget(turn.target, turn.method, turn.fields.host);
    const problem = target === undefined ? 400 : this.#problemOf(turn);
    if (problem === undefined) this.#enter(turn, target as Target);
    else answer(turn, toProblem(problem), "", true);
  }

  /** What is wrong with a request whose target is in order. */
  #problemOf({ fields }: Turn): ProblemStatus | undefined {
    const { bodyBytesMax } = this.#host;
    if (bodyBytesMax !== 0 && fields.length > bodyBytesMax) return 413;
    return fields.expect === "" || fields.expect === "100-continue" ? undefined : 417;
  }

  #enter(turn: Turn, { path, target }: Target): void {
    const { method } = turn;
    // What is matched and counted is what is sent on.
    turn.target = target;
    if (turn.asksForWebSocket) {
      // What the client sends next may not be HTTP, so if the upgrade fails the connection is closed.
      turn.closes = true;
      this.#decide(turn, path);
    } else if (path === this.#host.rateLimitPath && (method === "GET" || method === "HEAD")) {
      this.#tellStatus(turn);
    } else this.#decide(turn, path);
  }

  #decide(turn: Turn, path: string): void {
    const startMs = readMs();
    let entered: Passage | Promise<Passage>;
    try {
      entered = this.#host.door.enter(new TurnView(turn, this.#host));
    } catch (error) {
      this.#fail(turn, error);
      return;
    }
    if (entered instanceof Passage) this.#goOn(turn, path, entered, startMs);
    else {
      entered.then(
        (passage) => this.#goOn(turn, path, passage, startMs),
        (error) => this.#fail(turn, error),
      );
    }
  }

  #goOn(turn: Turn, path: string, passage: Passage, startMs: number): void {
    const { telemetry } = this.#host;
    const facts = { method: turn.method, path };
    telemetry.decided("gateway", passage.decision, facts, readMs() - startMs);
    const { refusal } = passage;
    if (refusal === undefined) {
      new Exchange(this.#host, turn, path, passage).start();
      return;
    }
    telemetry.refused("gateway", refusal.status);
    this.#answer(turn, refusal, passage.lines);
  }

  #tellStatus(turn: Turn): void {
    void (async () => this.#host.door.status(new TurnView(turn, this.#host)))().then(
      (reply) => {
        if (reply.status !== 200) this.#host.telemetry.refused("gateway", reply.status);
        this.#answer(turn, reply, "");
      },
      (error) => this.#fail(turn, error),
    );
  }

  /** Nobody is let in whom the rules could not judge. */
  #fail(turn: Turn, error: unknown): void {
    const kind = kindOfError(error);
    // Apart from each other: a store that is away must not hide a fault of ours.
    const what = kind === "store" ? "the store decided nothing" : "a request could not be decided";
    this.#host.telemetry.trouble(what, error);
    this.#answer(turn, toProblem(kind), "");
  }

  #answer(turn: Turn, reply: Reply, lines: string): void {
    if (!turn.isGone) answer(turn, reply, lines, false);
  }
}
