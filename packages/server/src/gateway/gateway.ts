// The gateway: a server of node:http whose requests pass the door of the limits and go on to upstreams. Its
// parser, its timeouts and its protection against slow clients are Node's, with every bound set.

import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import { createDoor, type Door } from "sluice/http";
import { atEndOfTurn, type CancelTimer, every } from "../clock.js";
import type { GatewayConfig, RouteConfig } from "../config/config.js";
import { Routes } from "../config/routes.js";
import type { Core, OpenDoor } from "../core.js";
import { ServerError } from "../errors.js";
import { listenAt } from "../http/listen.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { dial } from "../upstream/dial.js";
import { TICK_MS } from "../upstream/pool.js";
import { Upstream } from "../upstream/upstream.js";
import { Entry, type EntryHost } from "./exchange-entry.js";
import { TrustedPeers } from "./exchange-peers.js";
import { createGatewayServer } from "./gateway-server.js";
import { type UpgradeConnection, type UpgradeSetup, Upgrades } from "./websocket.js";

/**
 * How long an idle connection stays open while the gateway drains: a request may be on its way, and is
 * still answered.
 */
const DRAIN_GRACE_MS = 500;

/**
 * Opens the gateway.
 *
 * @throws ServerError `SLUICE_LISTEN_FAILED` if the address can't be listened at.
 */
export async function openGateway(core: Core): Promise<OpenDoor> {
  const { gateway: config } = core.config;
  if (config === undefined) {
    throw new ServerError("SLUICE_CONFIG_INVALID", "there is no gateway to open");
  }
  const gateway = new Gateway(core, config);
  await gateway.listen();
  return gateway;
}

/** The gateway of one process. */
class Gateway implements OpenDoor, EntryHost, UpgradeSetup {
  readonly name = "gateway";
  url = "";
  readonly door: Door;
  readonly telemetry: Telemetry;
  readonly bodyBytesMax: number;
  readonly headersMax: number;
  readonly rateLimitPath: string | undefined;
  readonly protocol: "http" | "https";
  isDraining = false;
  readonly #listen: GatewayConfig["listen"];
  readonly routes: Routes;
  readonly #upstreams = new Map<string, Upstream>();
  readonly #trusted: TrustedPeers;
  readonly #server: Server;
  /** No more than `connectionsMax`. */
  readonly #sockets = new Set<Socket>();
  #stopTicks: CancelTimer | undefined = undefined;

  constructor({ config, policy, clock, telemetry }: Core, gateway: GatewayConfig) {
    const { identity, responses, routes, upstreams } = config;
    this.telemetry = telemetry;
    this.bodyBytesMax = gateway.bodyBytesMax;
    this.headersMax = gateway.headersMax;
    this.rateLimitPath = gateway.rateLimitPath;
    this.protocol = gateway.tls === undefined ? "http" : "https";
    this.#listen = gateway.listen;
    this.door = createDoor(policy, {
      ...responses,
      identity,
      onError: (error) => telemetry.trouble("the door of the limits met an error", error),
    });
    this.routes = new Routes(routes);
    for (const upstream of upstreams.values()) {
      const { name } = upstream;
      const made = new Upstream(
        upstream,
        () => clock.now(),
        (outcome, target) => telemetry.upstream(name, outcome, target),
      );
      this.#upstreams.set(name, made);
    }
    this.#trusted = new TrustedPeers(identity.trustedProxies ?? []);
    this.#server = createGatewayServer(gateway, (error) => {
      if (error === undefined) telemetry.log.info("the certificate was read again");
      else telemetry.log.error({ err: error }, "the certificate can't be read again");
    });
  }

  async listen(): Promise<void> {
    const entry = new Entry(this);
    this.#server
      .on("request", (request, response) => entry.take(request, response, false))
      .on("checkContinue", (request, response) => entry.take(request, response, true))
      .on("connection", (socket: Socket) => this.#keep(socket));
    new Upgrades(this).attach(this.#server);
    this.url = `${this.protocol}://${await listenAt(this.#server, this.#listen, this.name)}`;
    this.#stopTicks = every(TICK_MS, () => {
      for (const upstream of this.#upstreams.values()) upstream.onTick();
    });
  }

  isPeerTrusted(peer: string | undefined): boolean {
    return this.#trusted.has(peer);
  }

  routeOf(path: string, host: string | undefined): RouteConfig | undefined {
    return this.routes.find(path, host);
  }

  upstreamOf({ upstream }: RouteConfig): Upstream {
    const found = this.#upstreams.get(upstream);
    if (found === undefined) throw new ServerError("SLUICE_CONFIG_INVALID", `upstream ${upstream}`);
    return found;
  }

  /** A connection for an upgrade. */
  async connect(route: RouteConfig): Promise<UpgradeConnection> {
    const upstream = this.upstreamOf(route);
    const { socket, target } = await dial(upstream);
    return { socket, targetHost: target.authority, upstream };
  }

  stopListening(): void {
    // The server's own `close` would cut idle connections off at once, whatever is on its way on them.
    if (this.#server.listening) NetServer.prototype.close.call(this.#server);
  }

  async drain(): Promise<void> {
    this.stopListening();
    this.isDraining = true;
    // Again and again: one whose answer came before its body is idle only once that is in. At the end of a
    // turn: when a busy loop gets round to this, a request may have come in that nobody has looked at.
    const stopLooking = every(DRAIN_GRACE_MS, () => atEndOfTurn(() => this.#closeUnused()));
    await this.#closed();
    stopLooking();
    this.#release();
  }

  async close(): Promise<void> {
    this.isDraining = true;
    const closed = this.#closed();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    this.#release();
  }

  /** Resolves when the last connection has ended, also if the server was closed before. */
  #closed(): Promise<void> {
    return new Promise((resolve) => {
      NetServer.prototype.close.call(this.#server, () => resolve());
    });
  }

  #keep(socket: Socket): void {
    // A connection is told of again after an upgrade that was ignored.
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  #closeUnused(): void {
    this.#server.closeIdleConnections();
    // Node counts a connection on which nothing was ever sent among those that are busy.
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  #release(): void {
    this.#stopTicks?.();
    for (const upstream of this.#upstreams.values()) upstream.close();
    // Stops looking for slow connections; it is closed already.
    this.#server.close(() => {});
  }
}
