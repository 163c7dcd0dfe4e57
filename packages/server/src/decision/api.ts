// The way of a request through the decision API: path, method, token, body, verb, answer. Written by hand, since
// a single check is so little work that a framework would be most of it (bench service/decide).

import type { MaybePromise } from "sluice";
import type { Policy } from "sluice/rules";
import { readMs } from "../base/clock.js";
import { ServerError, show } from "../base/errors.js";
import { Auth, type Credentials } from "../base/http/auth.js";
import { mustBeJson } from "../base/http/json.js";
import { toProblemBody } from "../base/http/problem.js";
import type { DecisionConfig } from "../config/config.js";
import type { Core } from "../core/core.js";
import type { Turn } from "../http1/exchange.js";
import { sendJson, toProblem, toToldProblem } from "./decision-reply.js";
import { type Endpoint, toEndpoints } from "./endpoints.js";
import { Holds } from "./holds.js";
import { Idempotency, type KeyedRequest, toKeyedRequest } from "./idempotency.js";
import { Limiters } from "./limiters.js";
import { LimitsList } from "./limits-list.js";
import { toOpenApi } from "./openapi.js";
import { randomId } from "./random-id.js";
import { toInputs } from "./verb-inputs.js";
import { type Call, Verbs } from "./verbs.js";

const ALIVE = '{"alive":true}';

/** The decision API. */
export class DecisionApi {
  readonly #core: Core;
  readonly #bodyBytesMax: number;
  readonly #auth: Auth;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  /** What is answered to GET, and whether it needs a token. */
  readonly #pages: ReadonlyMap<string, { readonly isOpen: boolean; text(): string }>;
  readonly #idempotency: Idempotency;

  constructor(core: Core, policy: Policy, { tokens, bodyBytesMax }: DecisionConfig) {
    this.#core = core;
    this.#bodyBytesMax = bodyBytesMax;
    this.#auth = new Auth(tokens, "decision.tokens");
    const nowMs = () => core.clock.now();
    this.#idempotency = new Idempotency(nowMs);
    const holds = new Holds({ nowMs, newId: randomId });
    const limiters = new Limiters(core, (message) => core.telemetry.log.warn(message));
    const verbs = new Verbs({ core, policy, limiters, holds });
    const inputs = toInputs(core.config.identity.keySecret);
    const endpoints = toEndpoints(verbs, inputs, (error) => this.#note(error));
    this.#endpoints = new Map(endpoints.map((endpoint) => [endpoint.path, endpoint]));
    const openApi = toOpenApi(endpoints);
    const limits = new LimitsList(policy);
    this.#pages = new Map([
      ["/v1/limits", { isOpen: false, text: () => limits.text }],
      ["/openapi.json", { isOpen: true, text: () => openApi }],
      ["/livez", { isOpen: true, text: () => ALIVE }],
    ]);
  }

  /** Answers a request. Never throws. */
  answer(turn: Turn, path: string): void {
    try {
      const endpoint = this.#endpoints.get(path);
      if (endpoint === undefined) this.#answerPage(turn, path);
      else this.#answerPost(turn, endpoint);
    } catch (error) {
      this.#fail(turn, error);
    }
  }

  #answerPage(turn: Turn, path: string): void {
    const page = this.#pages.get(path);
    if (page === undefined) throw new ServerError("SLUICE_NOT_FOUND", `got ${show(path)}`);
    if (turn.method !== "GET" && turn.method !== "HEAD") {
      this.#refuseMethod(turn, "GET, HEAD");
      return;
    }
    if (!page.isOpen) this.#auth.admit(toCredentials(turn));
    sendJson(turn, 200, page.text(), "Cache-Control: no-store\r\n");
  }

  #answerPost(turn: Turn, endpoint: Endpoint): void {
    if (turn.method !== "POST") {
      this.#refuseMethod(turn, "POST");
      return;
    }
    const asking = this.#askingOf(turn);
    const { body, fields } = turn;
    if (fields.length > this.#bodyBytesMax) throw tooLarge(this.#bodyBytesMax);
    // Here already, as it mostly is, and no more than it told.
    if (body === undefined || (body.isComplete && fields.length > 0)) {
      this.#take(turn, endpoint, body?.held ?? NOTHING, asking);
      return;
    }
    turn.sendContinue();
    body.whenHeld(this.#bodyBytesMax, (isWhole) => {
      if (isWhole) this.#take(turn, endpoint, body.held, asking);
      // What broke off is answered by the server.
      else if (!body.isDropped) this.#fail(turn, tooLarge(this.#bodyBytesMax));
    });
  }

  /** Who asks, and what else its fields say: looked at once where a client sends the same ones again. */
  #askingOf(turn: Turn): Asking {
    const { fields } = turn;
    const known = fields.memo as Asking | undefined;
    if (known !== undefined) return known;
    const token = this.#auth.admit(toCredentials(turn));
    mustBeJson(fields.get("content-type"));
    const asking = { call: { token }, idempotencyKey: fields.get("idempotency-key") };
    fields.memo = asking;
    return asking;
  }

  #take(turn: Turn, endpoint: Endpoint, body: Buffer, asking: Asking): void {
    if (asking.idempotencyKey === undefined) this.#run(turn, endpoint, body, asking);
    else void this.#runOnce(turn, endpoint, body, asking.call.token, asking.idempotencyKey);
  }

  /** Makes no closure for what is answered at once (bench service/decide). */
  #run(turn: Turn, endpoint: Endpoint, body: Buffer, { call }: Asking): void {
    const startMs = readMs();
    let answer: MaybePromise<string>;
    try {
      answer = endpoint.run(body, call);
    } catch (error) {
      this.#fail(turn, error);
      return;
    }
    if (typeof answer === "string") this.#send(turn, answer, startMs);
    else {
      answer.then(
        (text) => this.#send(turn, text, startMs),
        (error) => this.#fail(turn, error),
      );
    }
  }

  #send(turn: Turn, text: string, startMs: number): void {
    this.#core.telemetry.tookMs("decision", readMs() - startMs);
    if (!turn.isGone) sendJson(turn, 200, text);
  }

  /** Runs a request that says a key, unless it was answered before. */
  async #runOnce(
    turn: Turn,
    endpoint: Endpoint,
    body: Buffer,
    token: number,
    idempotencyKey: string,
  ): Promise<void> {
    const startMs = readMs();
    let keyed: KeyedRequest | undefined;
    try {
      const asked = toKeyedRequest(idempotencyKey, { token, path: endpoint.path, body });
      const kept = this.#idempotency.begin(asked);
      if (kept !== undefined) {
        sendJson(turn, kept.status, kept.body);
        return;
      }
      keyed = asked;
      // Other processes don't know the answer: with the id, at least the store counts the request once.
      const text = await endpoint.run(body, { requestId: asked.print, token });
      this.#idempotency.end(keyed, { status: 200, body: text });
      this.#send(turn, text, startMs);
    } catch (error) {
      const problem = toToldProblem(error);
      const told = { status: problem.status, body: toProblemBody(problem) };
      if (keyed !== undefined) this.#idempotency.end(keyed, told);
      this.#fail(turn, error);
    }
  }

  #refuseMethod(turn: Turn, allowed: string): void {
    const seen = `got ${turn.method}, allowed: ${allowed}`;
    this.#fail(turn, new ServerError("SLUICE_METHOD_NOT_ALLOWED", seen), `Allow: ${allowed}\r\n`);
  }

  #fail(turn: Turn, error: unknown, lines = ""): void {
    this.#note(error);
    const problem = toToldProblem(error);
    if (!turn.isGone) sendJson(turn, problem.status, toProblemBody(problem), lines);
  }

  /** Logs what callers learn nothing of. */
  #note(error: unknown): void {
    if (toProblem(error) !== undefined) return;
    this.#core.telemetry.trouble("decision API: a request failed", error);
  }
}

/** What the fields of a request say, once it is let in. */
interface Asking {
  /** The call of every request with these fields, unless it has an idempotency key. */
  readonly call: Call;
  readonly idempotencyKey: string | undefined;
}

const NOTHING: Buffer = Buffer.alloc(0);

function toCredentials({ fields }: Turn): Credentials {
  return { authorization: fields.get("authorization"), host: fields.host };
}

function tooLarge(bytesMax: number): ServerError {
  return new ServerError("SLUICE_BODY_TOO_LARGE", `at most ${bytesMax} bytes`);
}
