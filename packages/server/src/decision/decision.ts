// The listener of the decision API and of forward-auth: one listener for both.

import type { Policy } from "sluice/rules";
import { Http1Server } from "sluice-http1";
import { type ListenAddress, listenAt } from "../base/http/listen.js";
import { toRawProblem } from "../base/http/problem.js";
import type { DecisionConfig } from "../config/config.js";
import type { Core, Listener } from "../core/core.js";
import { DecisionApi } from "./api.js";
import { ForwardAuth, toRawAnswer, variantAt } from "./forward-auth/forward-auth.js";

const BOUNDS = {
  // nginx accepts heads of 32 KiB from a client by default, and sends the target along a second time.
  headBytesMax: 65_536,
  fieldsMax: 1_000,
  headMsMax: 10_000,
  requestMsMax: 30_000,
  // Longer than most proxies hold theirs.
  keepAliveMs: 65_000,
  connectionsMax: 20_000,
};

/**
 * Opens the listener of the decision API.
 *
 * @throws ServerError `SLUICE_LISTEN_FAILED`, or `SLUICE_CONFIG_INVALID` if a token can't be used.
 */
export async function openDecision(core: Core): Promise<Listener> {
  const { decision } = core.config;
  const { blindPolicy } = core;
  if (decision === undefined || blindPolicy === undefined) {
    throw new Error(
      "the decision API is opened by a core that has its configuration and its policy",
    );
  }
  const listener = new DecisionListener(core, blindPolicy, decision);
  await listener.listen(decision.listen);
  return listener;
}

class DecisionListener implements Listener {
  readonly name = "decision";
  readonly #server: Http1Server;
  url = "";

  constructor(core: Core, policy: Policy, decision: DecisionConfig) {
    const api = new DecisionApi(core, policy, decision);
    const forwardAuth = decision.forwardAuth ? new ForwardAuth(core, policy) : undefined;
    this.#server = new Http1Server(BOUNDS, {
      onExchange: (exchange) => {
        const path = pathOf(exchange.target);
        const variant = forwardAuth && variantAt(path);
        if (variant === undefined) api.answer(exchange, path);
        else forwardAuth?.answer(exchange, variant);
      },
      toRefusal: (status, target) => {
        const problem = { status, code: "SLUICE_REQUEST_INVALID" };
        const variant = forwardAuth && variantAt(pathOf(target));
        return variant === undefined ? toRawProblem(problem) : toRawAnswer(problem, variant);
      },
    });
  }

  async listen(listen: ListenAddress): Promise<void> {
    this.url = `http://${await listenAt(this.#server.netServer, listen, this.name)}`;
  }

  stopListening(): void {
    this.#server.stopListening();
  }

  drain(): Promise<void> {
    return this.#server.drain();
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}
