// The way of a request through the decision API: path, method, token, body, verb, answer. Written by hand on
// node:http, since a single check is so little work that a framework would be most of it (bench service/decide).

import type { IncomingMessage, ServerResponse } from "node:http";
import type { MaybePromise } from "sluice";
import type { Policy } from "sluice/rules";
import { readMs } from "../clock.js";
import type { DecisionConfig } from "../config/config.js";
import type { Core } from "../core.js";
import { ServerError, show } from "../errors.js";
import { Auth } from "../http/auth.js";
import { mustBeJson } from "../http/json.js";
import { toProblemBody } from "../http/problem.js";
import { collectBody, tooLarge } from "./body.js";
import { type Endpoint, toEndpoints } from "./endpoints.js";
import { Holds } from "./holds.js";
import { Idempotency, type KeyedRequest, toKeyedRequest } from "./idempotency.js";
import { toInputs } from "./inputs.js";
import { Limiters } from "./limiters.js";
import { LimitsList } from "./limits-list.js";
import { toOpenApi } from "./openapi.js";
import { PlainAnswers } from "./plain-answer.js";
import { randomId } from "./random-id.js";
import { sendJson, toProblem, toToldProblem } from "./reply.js";
import { type Call, Verbs } from "./verbs.js";

/** How long an idle connection stays open: longer than most proxies hold theirs. */
export const KEEP_ALIVE_MS = 65_000;

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
  readonly #answers = new PlainAnswers(KEEP_ALIVE_MS);

  constructor(core: Core, policy: Policy, { tokens, bodyBytesMax }: DecisionConfig) {
    this.#core = core;
    this.#bodyBytesMax = bodyBytesMax;
    this.#auth = new Auth(tokens, "decision.tokens");
    const nowMs = () => core.clock.now();
    this.#idempotency = new Idempotency(nowMs);
    const holds = new Holds({ nowMs, newId: randomId });
    const verbs = new Verbs({ core, policy, limiters: new Limiters(core), holds });
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
  answer(request: IncomingMessage, response: ServerResponse, path: string): void {
    try {
      const endpoint = this.#endpoints.get(path);
      if (endpoint === undefined) this.#answerPage(request, response, path);
      else this.#answerPost(request, response, endpoint);
    } catch (error) {
      this.#fail(response, error);
    }
  }

  #answerPage(request: IncomingMessage, response: ServerResponse, path: string): void {
    const page = this.#pages.get(path);
    if (page === undefined) throw new ServerError("SLUICE_NOT_FOUND", `got ${show(path)}`);
    if (request.method !== "GET" && request.method !== "HEAD") {
      this.#refuseMethod(request, response, "GET, HEAD");
      return;
    }
    if (!page.isOpen) this.#auth.admit(request.headers);
    response.setHeader("Cache-Control", "no-store");
    sendJson(response, 200, page.text());
  }

  #answerPost(request: IncomingMessage, response: ServerResponse, endpoint: Endpoint): void {
    if (request.method !== "POST") {
      this.#refuseMethod(request, response, "POST");
      return;
    }
    const { headers } = request;
    const token = this.#auth.admit(headers);
    mustBeJson(headers["content-type"]);
    if (Number(headers["content-length"]) > this.#bodyBytesMax) throw tooLarge(this.#bodyBytesMax);
    const idempotencyKey = headers["idempotency-key"] as string | undefined;
    collectBody(request, this.#bodyBytesMax, (error, body) => {
      if (error !== undefined) this.#fail(response, error);
      else if (idempotencyKey === undefined) this.#run(response, endpoint, body);
      else this.#runOnce(response, endpoint, body, { token, idempotencyKey });
    });
  }

  /** Makes no closure for what is answered at once (bench service/decide). */
  #run(response: ServerResponse, endpoint: Endpoint, body: Buffer): void {
    const startMs = readMs();
    let answer: MaybePromise<string>;
    try {
      answer = endpoint.run(body, NO_CALL);
    } catch (error) {
      this.#fail(response, error);
      return;
    }
    if (typeof answer === "string") this.#send(response, answer, startMs);
    else {
      answer.then(
        (text) => this.#send(response, text, startMs),
        (error) => this.#fail(response, error),
      );
    }
  }

  #send(response: ServerResponse, text: string, startMs: number): void {
    this.#core.telemetry.tookMs("decision", readMs() - startMs);
    if (!this.#answers.send(response, text)) sendJson(response, 200, text);
  }

  /** Runs a request that says a key, unless it was answered before. */
  async #runOnce(
    response: ServerResponse,
    endpoint: Endpoint,
    body: Buffer,
    { token, idempotencyKey }: { readonly token: number; readonly idempotencyKey: string },
  ): Promise<void> {
    const startMs = readMs();
    let keyed: KeyedRequest | undefined;
    try {
      const asked = toKeyedRequest(idempotencyKey, { token, path: endpoint.path, body });
      const kept = this.#idempotency.begin(asked);
      if (kept !== undefined) {
        sendJson(response, kept.status, kept.body);
        return;
      }
      keyed = asked;
      // Other processes don't know the answer: with the id, at least the store counts the request once.
      const text = await endpoint.run(body, { requestId: asked.print });
      this.#idempotency.end(keyed, { status: 200, body: text });
      this.#send(response, text, startMs);
    } catch (error) {
      const problem = toToldProblem(error);
      const told = { status: problem.status, body: toProblemBody(problem) };
      if (keyed !== undefined) this.#idempotency.end(keyed, told);
      this.#fail(response, error);
    }
  }

  #refuseMethod({ method }: IncomingMessage, response: ServerResponse, allowed: string): void {
    response.setHeader("Allow", allowed);
    const seen = `got ${method}, allowed: ${allowed}`;
    this.#fail(response, new ServerError("SLUICE_METHOD_NOT_ALLOWED", seen));
  }

  #fail(response: ServerResponse, error: unknown): void {
    this.#note(error);
    const problem = toToldProblem(error);
    sendJson(response, problem.status, toProblemBody(problem));
  }

  /** Logs what callers learn nothing of. */
  #note(error: unknown): void {
    if (toProblem(error) !== undefined) return;
    this.#core.telemetry.trouble("decision API: a request failed", error);
  }
}

const NO_CALL: Call = {};
