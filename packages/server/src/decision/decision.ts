// The door of the decision API and of forward-auth: one listener for both.

import { createServer, type Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { Policy } from "sluice/rules";
import { atEndOfTurn, every } from "../clock.js";
import type { DecisionConfig, ListenConfig } from "../config/config.js";
import type { Core, OpenDoor } from "../core.js";
import { listenAt } from "../http/listen.js";
import { DecisionApi, KEEP_ALIVE_MS } from "./api.js";
import { ForwardAuth, variantAt } from "./forward-auth.js";

/** Until the head of a request has to be there, in milliseconds. */
const HEADERS_MS_MAX = 10_000;
/** Until all of it has to be. */
const REQUEST_MS_MAX = 30_000;
/** How often both are looked after. */
const TIMEOUT_LOOK_MS = 2_000;
const CONNECTIONS_MAX = 20_000;
const HEADER_BYTES_MAX = 32_768;
/** How often a door that drains closes connections that have become idle. */
const IDLE_LOOK_MS = 250;

/**
 * Opens the door of the decision API.
 *
 * @throws ServerError `SLUICE_LISTEN_FAILED`, or `SLUICE_CONFIG_INVALID` if a token can't be used.
 */
export async function openDecision(core: Core): Promise<OpenDoor> {
  const { decision } = core.config;
  const { blindPolicy } = core;
  if (decision === undefined || blindPolicy === undefined) {
    throw new Error(
      "the decision API is opened by a core that has its configuration and its policy",
    );
  }
  const door = new DecisionDoor(core, blindPolicy, decision);
  await door.listen(decision.listen);
  return door;
}

class DecisionDoor implements OpenDoor {
  readonly name = "decision";
  readonly #server: Server;
  /** Resolves when it no longer listens and the last connection has ended. */
  readonly #closed: Promise<void>;
  /** Connections at once, {@link CONNECTIONS_MAX} at most. */
  readonly #sockets = new Set<Socket>();
  #isDraining = false;
  url = "";

  constructor(core: Core, policy: Policy, decision: DecisionConfig) {
    const api = new DecisionApi(core, policy, decision);
    const forwardAuth = decision.forwardAuth ? new ForwardAuth(core, policy) : undefined;
    this.#server = createServer(
      {
        headersTimeout: HEADERS_MS_MAX,
        requestTimeout: REQUEST_MS_MAX,
        connectionsCheckingInterval: TIMEOUT_LOOK_MS,
        keepAliveTimeout: KEEP_ALIVE_MS,
        maxHeaderSize: HEADER_BYTES_MAX,
      },
      (request, response) => {
        if (this.#isDraining) response.shouldKeepAlive = false;
        const path = pathOf(request.url ?? "/");
        const variant = forwardAuth && variantAt(path);
        if (variant === undefined) api.answer(request, response, path);
        else forwardAuth?.answer(request, response, variant);
      },
    );
    // Node would drop fields beyond its count without a word, an Idempotency-Key among them.
    this.#server.maxHeadersCount = 0;
    this.#server.maxConnections = CONNECTIONS_MAX;
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#closed = new Promise((resolve) => {
      this.#server.once("close", () => {
        // Ends what watches over slow requests; there is nothing left to cut off.
        this.#server.close();
        resolve();
      });
    });
  }

  async listen(listen: ListenConfig): Promise<void> {
    this.url = `http://${await listenAt(this.#server, listen, "decision")}`;
  }

  stopListening(): void {
    // The server's own `close` would cut idle connections off at once.
    if (this.#server.listening) NetServer.prototype.close.call(this.#server);
  }

  async drain(): Promise<void> {
    this.stopListening();
    this.#isDraining = true;
    // Not at once, and at the end of a turn: a request may be on its way on a connection that looks idle, or
    // have come in while the loop was busy.
    const stopLooking = every(IDLE_LOOK_MS, () => atEndOfTurn(() => this.#closeIdle()));
    await this.#closed.finally(stopLooking);
  }

  async close(): Promise<void> {
    this.stopListening();
    this.#server.closeAllConnections();
    await this.#closed;
  }

  #closeIdle(): void {
    this.#server.closeIdleConnections();
    // Those that never asked anything are not idle to Node.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query < 0 ? url : url.slice(0, query);
}
