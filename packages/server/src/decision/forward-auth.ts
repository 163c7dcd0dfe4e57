// Forward-auth: other proxies ask whether a request may pass before they pass it on. 204 lets it pass, 429 with
// a problem body refuses it, and both carry the RateLimit fields. nginx knows no refusal but 403, so at its
// path every refusal is one, with the real status beside it.

import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createDoor,
  type Door,
  type IdentityOptions,
  joinHead,
  Passage,
  type Reply,
  sendReply,
} from "sluice/http";
import { type Policy, toCidrList } from "sluice/rules";
import { readMs } from "../clock.js";
import type { Core } from "../core.js";
import { ServerError, show } from "../errors.js";
import { toProblemBody } from "../http/problem.js";
import { ForwardedRequest, toIdentity, type Variant } from "./forwarded-request.js";
import { sendJson, toProblem, toToldProblem } from "./reply.js";

const VARIANTS: ReadonlyMap<string, Variant> = new Map([
  ["/check", "forwarded"],
  ["/check/nginx", "nginx"],
]);

/** What nginx can't be told by the status. */
const STATUS_FIELD = "X-Sluice-Status";
const NGINX_DENIED = 403;

/** The variant that is asked for at a path; undefined if none is. */
export function variantAt(path: string): Variant | undefined {
  return VARIANTS.get(path);
}

/** Answers proxies. */
export class ForwardAuth {
  readonly #core: Core;
  readonly #doors: Readonly<Record<Variant, Door>>;
  readonly #isTrusted: (peer: string | undefined) => boolean;
  readonly #clientAddress: IdentityOptions["clientAddress"];
  #hasWarned = false;

  constructor(core: Core, policy: Policy) {
    this.#core = core;
    const { identity, responses } = core.config;
    const onError = (error: unknown) => core.telemetry.trouble("forward-auth: an error", error);
    const openFor = (variant: Variant) =>
      createDoor(policy, { ...responses, identity: toIdentity(variant, identity), onError });
    this.#doors = { forwarded: openFor("forwarded"), nginx: openFor("nginx") };
    this.#isTrusted = toTrust(identity.trustedProxies ?? []);
    this.#clientAddress = identity.clientAddress;
  }

  /** Answers a proxy, whatever the method that it asks with. Never throws. */
  answer(request: IncomingMessage, response: ServerResponse, variant: Variant): void {
    const startMs = readMs();
    const finish = (passage: Passage) => {
      this.#core.telemetry.tookMs("forward-auth", readMs() - startMs);
      this.#send(view as ForwardedRequest, response, variant, passage);
    };
    let view: ForwardedRequest | undefined;
    try {
      this.#mustBeTrusted(request.socket.remoteAddress);
      view = new ForwardedRequest(request, variant, this.#clientAddress);
      const passed = this.#doors[variant].enter(view);
      if (passed instanceof Passage) finish(passed);
      else passed.then(finish).catch((error) => this.#fail(response, error, variant));
    } catch (error) {
      this.#fail(response, error, variant);
    }
  }

  #send(
    view: ForwardedRequest,
    response: ServerResponse,
    variant: Variant,
    passage: Passage,
  ): void {
    const { decision, lines, refusal } = passage;
    const { method, target: path } = view;
    this.#core.telemetry.decided("forward-auth", decision, { method, path });
    joinHead(response, lines);
    if (refusal === undefined) {
      response.writeHead(204, ["Cache-Control", "no-store"]);
      response.end();
      return;
    }
    this.#core.telemetry.refused("forward-auth", refusal.status);
    sendReply(response, variant === "nginx" ? toNginxReply(refusal) : refusal);
  }

  #mustBeTrusted(peer: string | undefined): void {
    if (this.#isTrusted(peer)) return;
    const seen = `${show(peer)} asks, which is not among identity.trustedProxies`;
    if (!this.#hasWarned) this.#core.telemetry.log.warn(`forward-auth: ${seen}`);
    this.#hasWarned = true;
    throw new ServerError("SLUICE_FORBIDDEN", seen);
  }

  #fail(response: ServerResponse, error: unknown, variant: Variant): void {
    if (toProblem(error) === undefined) {
      this.#core.telemetry.trouble("forward-auth: a request failed", error);
    }
    const problem = toToldProblem(error);
    if (variant === "nginx") response.setHeader(STATUS_FIELD, `${problem.status}`);
    sendJson(response, problem.status, toProblemBody(problem));
  }
}

function toNginxReply({ status, fields, body }: Reply): Reply {
  return { status: NGINX_DENIED, fields: [...fields, STATUS_FIELD, `${status}`], body };
}

/** Whose fields are believed, as the identity of HTTP doors has it. */
function toTrust(proxies: readonly string[]): (peer: string | undefined) => boolean {
  const ranges = toCidrList(proxies.filter((range) => range !== "unaddressed"));
  const isUnaddressedTrusted = proxies.includes("unaddressed");
  return (peer) => (peer === undefined ? isUnaddressedTrusted : ranges.has(peer));
}
