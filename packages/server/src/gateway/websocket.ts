// WebSockets through the gateway. An upgrade is decided by the same door as any request, before anything is
// forwarded; then both connections are joined as they are. What an upgraded connection holds, it holds
// until it closes. Refusals are written to the socket, which ends with them: there is no response object.

import {
  type ClientRequest,
  type IncomingMessage,
  request as openRequest,
  type Server,
  STATUS_CODES,
} from "node:http";
import type { Duplex } from "node:stream";
import { type Door, NodeView, type Passage, type Reply, toFields, toLines } from "sluice/http";
import type { RequestEnd } from "sluice/rules";
import { after, readMs } from "../clock.js";
import type { RouteConfig, UpstreamConfig } from "../config/config.js";
import type { Routes } from "../config/routes.js";
import { ServerError } from "../errors.js";
import { cutOff } from "../http1/cut-off.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { toClientFields, toUpstreamHead } from "./forwarding.js";
import { readFraming } from "./framing.js";
import { ignoreUpgrade } from "./ignored-upgrade.js";
import { kindOfError, toProblem } from "./replies.js";
import { readTarget } from "./target.js";
import { joinEnds, watchIdle } from "./tunnel.js";

/** A new connection to a target, which the upgrade owns from then on. */
export interface UpgradeConnection {
  readonly socket: Duplex;
  /** `host:port` of the target. */
  readonly targetHost: string;
  readonly upstream: Pick<UpstreamConfig, "responseTimeoutMs" | "idleTimeoutMs">;
}

/** What upgrades need of the gateway. */
export interface UpgradeSetup {
  readonly door: Door;
  readonly telemetry: Telemetry;
  readonly routes: Routes;
  readonly protocol: "http" | "https";
  /** Whether what the peer at this address says about the client is believed. */
  isPeerTrusted(peer: string | undefined): boolean;
  /** Connects to a target of the route; rejects if none can be reached, with a ServerError. */
  connect(route: RouteConfig): Promise<UpgradeConnection>;
}

/** The upgraded connections of one gateway. */
export class Upgrades {
  readonly #setup: UpgradeSetup;
  /** No more than the connections that the server takes. */
  readonly #open = new Set<Duplex>();

  constructor(setup: UpgradeSetup) {
    this.#setup = setup;
  }

  /** How many connections are upgraded or about to be. */
  get size(): number {
    return this.#open.size;
  }

  /** Takes the upgrades of a server from now on; others than to WebSockets are ignored, as HTTP has it. */
  attach(server: Server): void {
    server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (isBusy(socket)) socket.destroy();
      else if (isWebSocket(request)) this.#take(request, socket, head);
      else ignoreUpgrade(server, request, socket, head);
    });
  }

  /** Closes all of them at once. */
  close(): void {
    for (const socket of this.#open) socket.destroy();
  }

  #take(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    // An error without a listener ends the process.
    socket.on("error", ignore);
    void this.#pass(request, socket, head).catch((error) => this.#fail(error, socket, ""));
  }

  /** Answers an upgrade that comes to nothing. */
  #fail(error: unknown, client: Duplex, lines: string): void {
    // What the client did is no trouble, be it a bad request or that it left.
    const isTheirs = error instanceof ServerError && error.status < 500;
    if (client.destroyed) return;
    if (!isTheirs) this.#tell(error);
    endSocket(client, toProblem(kindOfError(error)), lines);
  }

  #tell(error: unknown): void {
    const isUpstreams = error instanceof ServerError;
    const what = isUpstreams ? "upstream failed an upgrade" : "an upgrade could not be decided";
    this.#setup.telemetry.trouble(what, error);
  }

  async #enter(request: IncomingMessage): Promise<Passage> {
    const { door, telemetry } = this.#setup;
    const startMs = readMs();
    const passage = await door.enter(new NodeView(request));
    telemetry.tookMs("gateway", readMs() - startMs);
    if (passage.refusal !== undefined) telemetry.refused("gateway", passage.refusal.status);
    return passage;
  }

  async #pass(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    const { host } = request.headers;
    const read = readTarget(request.url ?? "", request.method, host);
    if (read === undefined || readFraming(request) !== "none") {
      throw new ServerError("SLUICE_REQUEST_INVALID", "an upgrade with a bad target or a body");
    }
    // What is counted is what is forwarded.
    request.url = read.target;
    const passage = await this.#enter(request);
    if (passage.refusal !== undefined) {
      endSocket(client, passage.refusal, passage.lines);
      return;
    }
    const end = finishWith(passage, client);
    if (!(await mayGoOn(passage, client))) return;
    const route = this.#setup.routes.find(read.path, host);
    if (route === undefined) throw new ServerError("SLUICE_NOT_FOUND", "no route");
    const connection = await this.#setup.connect(route);
    this.#ask(request, connection, { client, head, target: read.target, route, passage, end });
  }

  #ask(request: IncomingMessage, connection: UpgradeConnection, exchange: Exchange): void {
    const { socket, targetHost, upstream } = connection;
    const { client, target, route } = exchange;
    socket.on("error", ignore);
    if (client.destroyed) {
      socket.destroy();
      return;
    }
    const clientPeer = request.socket.remoteAddress;
    const text = toUpstreamHead(request, {
      target,
      route,
      targetHost,
      clientPeer,
      isPeerTrusted: this.#setup.isPeerTrusted(clientPeer),
      protocol: this.#setup.protocol,
      bodyFraming: "none",
      upgrade: "websocket",
    });
    const headers = toFields(text.slice(text.indexOf("\r\n") + 2));
    const createConnection = () => socket as never;
    const asked = openRequest({ path: target, headers, setHost: false, createConnection });
    answerWith(asked, exchange, upstream, {
      failed: (error) => this.#fail(error, client, exchange.passage.lines),
      brokeOff: (error) => this.#tell(error),
    });
    asked.end();
  }
}

/** An upgrade on its way. */
interface Exchange {
  readonly client: Duplex;
  /** What the client sent behind its head. */
  readonly head: Buffer;
  readonly target: string;
  readonly route: RouteConfig;
  readonly passage: Passage;
  /** How it ended, once it is known. */
  readonly end: { status?: number };
}

/** Hears how an upgrade failed. */
interface FailureListener {
  /** The client has no answer yet. */
  failed(error: ServerError): void;
  /** The client has a part of it. */
  brokeOff(error: ServerError): void;
}

/** Passes on what the upstream answers: the new protocol, or a response and the end. */
function answerWith(
  asked: ClientRequest,
  { client, head, passage, end }: Exchange,
  { responseTimeoutMs, idleTimeoutMs: idleMs }: UpgradeConnection["upstream"],
  listener: FailureListener,
): void {
  let isAnswered = false;
  const answered = () => {
    isAnswered = true;
    stop();
  };
  const fail = (code: UpstreamErrorCode, cause: unknown) => {
    if (isAnswered) return;
    answered();
    listener.failed(new ServerError(code, "an upgrade", { cause }));
    asked.destroy();
  };
  const stop = after(responseTimeoutMs, () => fail("SLUICE_UPSTREAM_TIMEOUT", undefined));
  const leave = () => asked.destroy();
  client.once("close", leave);
  asked.on("error", (error) => fail("SLUICE_UPSTREAM_UNAVAILABLE", error));
  asked.once("close", stop);
  asked.once("upgrade", (response: IncomingMessage, upstream: Duplex, upstreamHead: Buffer) => {
    if (response.headers.upgrade?.toLowerCase() !== "websocket") {
      upstream.destroy();
      fail("SLUICE_UPSTREAM_UNAVAILABLE", new Error(NO_WEBSOCKET));
      return;
    }
    answered();
    end.status = 101;
    client.off("close", leave);
    client.write(
      toHead(response, passage, "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
      "latin1",
    );
    joinEnds({ client, upstream, clientHead: head, upstreamHead, idleMs });
  });
  asked.once("response", (response: IncomingMessage) => {
    // A switch that does not say to what.
    if (response.statusCode === 101) {
      fail("SLUICE_UPSTREAM_UNAVAILABLE", new Error(NO_WEBSOCKET));
      return;
    }
    answered();
    end.status = response.statusCode ?? 502;
    client.write(toHead(response, passage, "Connection: close\r\n"), "latin1");
    passBody(response, client, listener);
    watchIdle([response], idleMs);
  });
}

type UpstreamErrorCode = "SLUICE_UPSTREAM_TIMEOUT" | "SLUICE_UPSTREAM_UNAVAILABLE";

const NO_WEBSOCKET = "it switched to something else than a WebSocket";

/** The end of the connection is that of the body, so that one that was cut short must not end like that. */
function passBody(response: IncomingMessage, client: Duplex, listener: FailureListener): void {
  response.on("error", ignore);
  response.once("close", () => {
    if ((response.complete && response.readableEnded) || client.destroyed) return;
    listener.brokeOff(new ServerError("SLUICE_UPSTREAM_UNAVAILABLE", "its response broke off"));
    cutOff(client);
  });
  response.pipe(client);
}

/** The head of the upstream's answer, as the client gets it. */
function toHead(response: IncomingMessage, { lines }: Passage, connection: string): string {
  const { statusCode, statusMessage, rawHeaders } = response;
  const fields = toLines(toClientFields(rawHeaders, lines));
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${connection}${fields}\r\n`;
}

/** Finishes what is held when the socket closes, by what was answered until then. */
function finishWith(passage: Passage, socket: Duplex): { status?: number } {
  const end: RequestEnd & { status?: number } = {};
  if (!passage.isHeld) return end;
  if (socket.destroyed) passage.finish(end);
  else socket.once("close", () => passage.finish(end));
  return end;
}

/** Waits for the upgrade's turn where a rule delays; false if the client left meanwhile. */
async function mayGoOn(passage: Passage, socket: Duplex): Promise<boolean> {
  if (passage.delayMs === 0) return !socket.destroyed;
  // A socket that nobody reads does not tell that it ended; no byte is taken from it.
  const look = () => {
    if (socket.readableLength === 0) socket.read(0);
  };
  const leave = () => socket.destroy();
  socket.on("readable", look).on("end", leave);
  const isOver = await passage.waited();
  socket.off("readable", look).off("end", leave);
  return isOver && !socket.destroyed;
}

/** HTTP/1.0 knows no upgrades. */
function isWebSocket({ method, headers, httpVersion }: IncomingMessage): boolean {
  const isAsked = headers.upgrade?.toLowerCase() === "websocket";
  return isAsked && method === "GET" && httpVersion === "1.1";
}

/** Whether an earlier response is still to be sent, so that bytes of both would mix, or was the last. */
function isBusy(socket: Duplex & { _httpMessage?: unknown }): boolean {
  return (socket._httpMessage ?? undefined) !== undefined || socket.writableEnded;
}

/** Writes a whole response to the socket, and closes it. */
function endSocket(socket: Duplex, { status, fields, body }: Reply, lines: string): void {
  if (socket.destroyed || socket.writableEnded) return;
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n${lines}`;
  socket.end(`${head}${toLines(fields)}\r\n${body}`, () => socket.destroy());
}

function ignore(): void {}
