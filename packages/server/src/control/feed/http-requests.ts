// Requests of a follower to its control node, over kept-alive connections. A response has to begin, and to continue,
// within a time limit; only the stream of changes detects silence in its own way.

import { readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure, Agent as SecureAgent } from "node:https";
import { formatDuration } from "sluice/shapes";
import { after } from "../../base/clock.js";
import type { FollowControlConfig } from "../../config/config.js";

/** Until an answer begins, and between two pieces of it. */
const ANSWER_MS_MAX = 5_000;
/** The stream, a snapshot, and reports. */
const CONNECTIONS_MAX = 4;

/** What is sent. */
export interface NodeRequest {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent by POST. Default: none, by GET. */
  readonly body?: string;
  /** Whether it may be silent for long once it has begun. Default false. */
  readonly isStream?: boolean;
}

/** Sends requests with a token. */
export class ControlNodeClient {
  readonly #url: string;
  readonly #token: string;
  readonly #isSecure: boolean;
  readonly #agent: Agent;

  /** @throws What the system says of `caFile`. */
  constructor({ url, token, caFile }: Pick<FollowControlConfig, "url" | "token" | "caFile">) {
    this.#url = url;
    this.#token = token;
    this.#isSecure = url.startsWith("https:");
    const options = { keepAlive: true, maxSockets: CONNECTIONS_MAX };
    const ca = caFile === undefined ? {} : { ca: readFileSync(caFile, "utf8") };
    this.#agent = this.#isSecure ? new SecureAgent({ ...options, ...ca }) : new Agent(options);
  }

  /** The answer, when its head is there. Rejects with what the system says. */
  send({ path, headers, body, isStream = false }: NodeRequest): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const send = this.#isSecure ? requestSecure : requestPlain;
      const sent = send(`${this.#url}${path}`, {
        agent: this.#agent,
        method: body === undefined ? "GET" : "POST",
        headers: { ...headers, authorization: `Bearer ${this.#token}` },
        ...(isStream ? {} : { timeout: ANSWER_MS_MAX }),
      });
      const abort = () => {
        sent.destroy(new Error(`no answer within ${formatDuration(ANSWER_MS_MAX)}`));
      };
      const cancel = after(ANSWER_MS_MAX, abort);
      sent.once("timeout", abort);
      sent.once("close", cancel);
      sent.on("error", reject);
      sent.once("response", (response) => {
        cancel();
        resolve(response);
      });
      sent.end(body);
    });
  }

  /** Closes all connections. */
  close(): void {
    this.#agent.destroy();
  }
}
