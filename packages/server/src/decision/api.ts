// A request's way through the decision API: path, method, token, body, verb, answer. It is written by hand because a
// check is so little work that a framework would cost more than the check itself (bench service/decide).

import type { MaybePromise } from "sluice";
import type { Policy } from "sluice/rules";
import { type Exchange, FieldsMemoKey } from "sluice-http1";
import { readMs } from "../base/clock.js";
import { ServerError, show } from "../base/errors.js";
import { Auth, type Credentials } from "../base/http/auth.js";
import { mustBeJson } from "../base/http/json.js";
import { toProblemBody } from "../base/http/problem.js";
import { randomId } from "../base/random-id.js";
import type { DecisionConfig } from "../config/config.js";
import type { Core } from "../core/core.js";
import { SentApiKeys } from "../core/sent-api-keys.js";
import { type Endpoint, toEndpoints } from "./endpoints/endpoints.js";
import { LimitsList } from "./endpoints/limits-list.js";
import { toOpenApi } from "./endpoints/openapi.js";
import { Idempotency, type IdempotentRequest, toIdempotentRequest } from "./idempotency.js";
import { sendJson, toProblem, toPublicProblem } from "./json-response.js";
import { Limiters } from "./verbs/limiters.js";
import { OpenHolds } from "./verbs/open-holds.js";
import { toInputs } from "./verbs/verb-inputs.js";
import { type VerbCall, Verbs } from "./verbs/verbs.js";

const ALIVE = '{"alive":true}';

/** The decision API. */
export class DecisionApi {
  readonly #core: Core;
  readonly #bodyBytesMax: number;
  readonly #auth: Auth;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  /** The answers to GET requests, and whether they are open to callers without a token. */
  readonly #pages: ReadonlyMap<string, { readonly isOpen: boolean; text(): string }>;
  readonly #idempotency: Idempotency;

  constructor(core: Core, policy: Policy, { tokens, bodyBytesMax }: DecisionConfig) {
    this.#core = core;
    this.#bodyBytesMax = bodyBytesMax;
    this.#auth = new Auth(tokens, "decision.tokens");
    const nowMs = () => core.clock.now();
    this.#idempotency = new Idempotency(nowMs);
    const holds = new OpenHolds({ nowMs, newId: () => randomId(16) });
    const limiters = new Limiters(core, (message) => core.telemetry.log.warn(message));
    const { keyResolver, unknownKeys, keySecret } = core.config.identity;
    const isResolved = keyResolver !== undefined;
    const apiKeys = isResolved ? new SentApiKeys(keyResolver, unknownKeys) : undefined;
    const verbs = new Verbs({ core, policy, limiters, holds, apiKeys });
    const inputs = toInputs({ keySecret, isResolved });
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
  answer(exchange: Exchange, path: string): void {
    try {
      const endpoint = this.#endpoints.get(path);
      if (endpoint === undefined) this.#answerPage(exchange, path);
      else this.#answerPost(exchange, endpoint);
    } catch (error) {
      this.#fail(exchange, error);
    }
  }

  #answerPage(exchange: Exchange, path: string): void {
    const page = this.#pages.get(path);
    if (page === undefined) throw new ServerError("SLUICE_NOT_FOUND", `got ${show(path)}`);
    if (exchange.method !== "GET" && exchange.method !== "HEAD") {
      this.#refuseMethod(exchange, "GET, HEAD");
      return;
    }
    if (!page.isOpen) this.#auth.admit(toCredentials(exchange));
    sendJson(exchange, 200, page.text(), "Cache-Control: no-store\r\n");
  }

  #answerPost(exchange: Exchange, endpoint: Endpoint): void {
    if (exchange.method !== "POST") {
      this.#refuseMethod(exchange, "POST");
      return;
    }
    const context = this.#contextOf(exchange);
    const { body, fields } = exchange;
    if (fields.length > this.#bodyBytesMax) throw tooLarge(this.#bodyBytesMax);
    // Mostly the body has already arrived, and is as long as Content-Length says.
    if (body === undefined || (body.isComplete && fields.length > 0)) {
      this.#take(exchange, endpoint, body?.held ?? NOTHING, context);
      return;
    }
    exchange.sendContinue();
    body.whenHeld(this.#bodyBytesMax, (isWhole) => {
      if (isWhole) this.#take(exchange, endpoint, body.held, context);
      // The server answers a body that broke off.
      else if (!body.isDropped) this.#fail(exchange, tooLarge(this.#bodyBytesMax));
    });
  }

  /** The token and idempotency key of a request. Read once for headers that a client sends again. */
  #contextOf(exchange: Exchange): RequestContext {
    const { fields } = exchange;
    const known = fields.recall(contextKey);
    if (known !== undefined) return known;
    const token = this.#auth.admit(toCredentials(exchange));
    mustBeJson(fields.get("content-type"));
    const context = { call: { token }, idempotencyKey: fields.get("idempotency-key") };
    fields.remember(contextKey, context);
    return context;
  }

  #take(exchange: Exchange, endpoint: Endpoint, body: Buffer, context: RequestContext): void {
    if (context.idempotencyKey === undefined) this.#run(exchange, endpoint, body, context);
    else void this.#runOnce(exchange, endpoint, body, context.call.token, context.idempotencyKey);
  }

  /** Makes no closure for an immediate answer (bench service/decide). */
  #run(exchange: Exchange, endpoint: Endpoint, body: Buffer, { call }: RequestContext): void {
    const startMs = readMs();
    let answer: MaybePromise<string>;
    try {
      answer = endpoint.run(body, call);
    } catch (error) {
      this.#fail(exchange, error);
      return;
    }
    if (typeof answer === "string") this.#send(exchange, answer, startMs);
    else {
      answer
        .then((text) => {
          const { isGone } = exchange;
          this.#send(exchange, text, startMs);
          // No one has the id of what it holds.
          return isGone ? endpoint.undo?.(text) : undefined;
        })
        .catch((error) => this.#fail(exchange, error));
    }
  }

  #send(exchange: Exchange, text: string, startMs: number): void {
    this.#core.telemetry.tookMs("decision", readMs() - startMs);
    if (!exchange.isGone) sendJson(exchange, 200, text);
  }

  /** Runs a request that has an idempotency key, unless it was answered before. */
  async #runOnce(
    exchange: Exchange,
    endpoint: Endpoint,
    body: Buffer,
    token: number,
    idempotencyKey: string,
  ): Promise<void> {
    const startMs = readMs();
    let keyed: IdempotentRequest | undefined;
    try {
      const asked = toIdempotentRequest(idempotencyKey, { token, path: endpoint.path, body });
      const kept = this.#idempotency.begin(asked);
      if (kept !== undefined) {
        sendJson(exchange, kept.status, kept.body);
        return;
      }
      keyed = asked;
      // Other processes don't have the answer; the request id makes the store count the request once regardless.
      const text = await endpoint.run(body, { requestId: asked.print, token });
      this.#idempotency.end(keyed, { status: 200, body: text });
      this.#send(exchange, text, startMs);
    } catch (error) {
      const problem = toPublicProblem(error);
      const answer = { status: problem.status, body: toProblemBody(problem) };
      if (keyed !== undefined) this.#idempotency.end(keyed, answer);
      this.#fail(exchange, error);
    }
  }

  #refuseMethod(exchange: Exchange, allowed: string): void {
    const seen = `got ${exchange.method}, allowed: ${allowed}`;
    this.#fail(
      exchange,
      new ServerError("SLUICE_METHOD_NOT_ALLOWED", seen),
      `Allow: ${allowed}\r\n`,
    );
  }

  #fail(exchange: Exchange, error: unknown, lines = ""): void {
    this.#note(error);
    const problem = toPublicProblem(error);
    if (!exchange.isGone) sendJson(exchange, problem.status, toProblemBody(problem), lines);
  }

  /** Logs an error whose details the caller does not get. */
  #note(error: unknown): void {
    if (toProblem(error) !== undefined) return;
    this.#core.telemetry.problem("decision API: a request failed", error);
  }
}

/** What the headers of an authorised request say. */
interface RequestContext {
  /** The call of every request with these headers, unless it has an idempotency key. */
  readonly call: VerbCall;
  readonly idempotencyKey: string | undefined;
}

const contextKey = new FieldsMemoKey<RequestContext>();

const NOTHING: Buffer = Buffer.alloc(0);

function toCredentials({ fields }: Exchange): Credentials {
  return { authorization: fields.get("authorization"), host: fields.host };
}

function tooLarge(bytesMax: number): ServerError {
  return new ServerError("SLUICE_BODY_TOO_LARGE", `at most ${bytesMax} bytes`);
}
