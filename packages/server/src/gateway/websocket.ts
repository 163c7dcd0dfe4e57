// WebSockets through the gateway. An upgrade is decided by the same door as any request, before anything is
// forwarded; its turn lasts until the upstream agrees, and then both connections are joined as they are.
// What an upgraded connection holds, it holds until it closes.

import { type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import type { Duplex } from "node:stream";
import { type Door, type Passage, toLines } from "sluice/http";
import type { RequestEnd } from "sluice/rules";
import { after, readMs } from "../clock.js";
import type { RouteConfig, UpstreamConfig } from "../config/config.js";
import { ServerError } from "../errors.js";
import type { RefusalStatus } from "../http1/client-connection.js";
import type { Turn, TurnWatcher } from "../http1/turn.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { withoutFraming } from "./exchange-head.js";
import { type ClientTrust, toUpgradeFields } from "./exchange-request.js";
import { toClientFields } from "./forwarding.js";
import { answer, kindOfError, toProblem } from "./replies.js";
import { joinEnds, watchIdle } from "./tunnel.js";
import { TurnView } from "./turn-view.js";

/** A new connection to a target, which the upgrade owns from then on. */
export interface UpgradeConnection {
  readonly socket: Duplex;
  /** `host:port` of the target. */
  readonly targetHost: string;
  readonly upstream: Pick<UpstreamConfig, "responseTimeoutMs" | "idleTimeoutMs">;
}

/** What upgrades need of the gateway. */
export interface UpgradeSetup extends ClientTrust {
  readonly door: Door;
  readonly telemetry: Telemetry;
  /** The way of a path; undefined if there is none. */
  routeOf(path: string, host: string | undefined): RouteConfig | undefined;
  /** Connects to a target of the route; rejects if none can be reached, with a ServerError. */
  connect(route: RouteConfig): Promise<UpgradeConnection>;
}

/**
 * Takes a request for a WebSocket.
 *
 * @param path - In canonical form, without the query.
 */
export function takeUpgrade(setup: UpgradeSetup, turn: Turn, path: string): void {
  const upgrade = new Upgrade(setup, turn);
  void upgrade.pass(path).catch((error) => upgrade.fail(error));
}

/** One upgrade, from its request to the end of its connection. */
class Upgrade implements TurnWatcher {
  readonly #setup: UpgradeSetup;
  readonly #turn: Turn;
  #passage: Passage | undefined = undefined;
  #asked: ClientRequest | undefined = undefined;
  #response: IncomingMessage | undefined = undefined;
  /** How it ended, once it is known. */
  readonly #end: RequestEnd & { status?: number | undefined } = {};
  #isOver = false;

  constructor(setup: UpgradeSetup, turn: Turn) {
    this.#setup = setup;
    this.#turn = turn;
    turn.watcher = this;
  }

  /** Asks the door, and then the upstream. */
  async pass(path: string): Promise<void> {
    const passage = await this.#enter(path);
    this.#passage = passage;
    if (this.#isOver) {
      if (passage.isHeld) passage.finish(this.#end);
      return;
    }
    if (passage.refusal !== undefined) {
      answer(this.#turn, passage.refusal, passage.lines, true);
      return;
    }
    if (!(await passage.waited()) || this.#isOver) return;
    const route = this.#setup.routeOf(path, this.#turn.fields.host);
    if (route === undefined) throw new ServerError("SLUICE_NOT_FOUND", "no route");
    this.#ask(route, await this.#setup.connect(route));
  }

  /** Answers an upgrade that comes to nothing. */
  fail(error: unknown): void {
    this.#asked?.destroy();
    if (this.#turn.isGone || this.#turn.isAnswered) return;
    // What the client did is no trouble.
    const isTheirs = error instanceof ServerError && error.status < 500;
    if (!isTheirs) this.#tell(error);
    answer(this.#turn, toProblem(kindOfError(error)), this.#passage?.lines ?? "", true);
  }

  onTurnOver(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#end.status ??= this.#turn.status;
    this.#asked?.destroy();
    if (this.#passage?.isHeld === true) this.#passage.finish(this.#end);
  }

  onClientReady(): void {
    this.#response?.resume();
  }

  onBodyBroken(status: RefusalStatus): void {
    answer(this.#turn, toProblem(status), "", true);
  }

  async #enter(path: string): Promise<Passage> {
    const { door, telemetry } = this.#setup;
    const startMs = readMs();
    const passage = await door.enter(new TurnView(this.#turn));
    const facts = { method: this.#turn.method, path };
    telemetry.decided("gateway", passage.decision, facts, readMs() - startMs);
    if (passage.refusal !== undefined) telemetry.refused("gateway", passage.refusal.status);
    return passage;
  }

  #tell(error: unknown): void {
    const isUpstreams = error instanceof ServerError;
    const what = isUpstreams ? "upstream failed an upgrade" : "an upgrade could not be decided";
    this.#setup.telemetry.trouble(what, error);
  }

  #ask(route: RouteConfig, { socket, targetHost, upstream }: UpgradeConnection): void {
    // An error without a listener ends the process.
    socket.on("error", ignore);
    if (this.#isOver) {
      socket.destroy();
      return;
    }
    const headers = toUpgradeFields(this.#turn, route, targetHost, this.#setup);
    const createConnection = () => socket as never;
    const path = this.#turn.target;
    const asked = openRequest({ path, headers, setHost: false, createConnection });
    this.#asked = asked;
    const fail = (code: UpstreamErrorCode, cause?: unknown) =>
      this.fail(new ServerError(code, "an upgrade", { cause }));
    const stop = after(upstream.responseTimeoutMs, () => fail("SLUICE_UPSTREAM_TIMEOUT"));
    asked
      .on("error", (error) => fail("SLUICE_UPSTREAM_UNAVAILABLE", error))
      .once("close", stop)
      .once("upgrade", (response: IncomingMessage, other: Duplex, ahead: Buffer) => {
        stop();
        if (response.headers.upgrade?.toLowerCase() === "websocket") {
          this.#join(response, other, ahead, upstream.idleTimeoutMs);
        } else {
          other.destroy();
          fail("SLUICE_UPSTREAM_UNAVAILABLE", new Error(NO_WEBSOCKET));
        }
      })
      .once("response", (response: IncomingMessage) => {
        stop();
        // A switch that does not say to what.
        if (response.statusCode === 101) {
          fail("SLUICE_UPSTREAM_UNAVAILABLE", new Error(NO_WEBSOCKET));
        } else this.#passOn(response, upstream.idleTimeoutMs);
      });
    asked.end();
  }

  /** The upstream agrees: from now on there are two connections, and no HTTP. */
  #join(response: IncomingMessage, upstream: Duplex, upstreamHead: Buffer, idleMs: number): void {
    if (this.#isOver) {
      upstream.destroy();
      return;
    }
    this.#asked = undefined;
    this.#end.status = 101;
    const { socket: client, ahead: clientHead } = this.#turn.connection.detach();
    client.once("close", () => this.onTurnOver());
    const { statusCode, statusMessage } = response;
    const connection = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
    const fields = toLines(this.#fieldsOf(response));
    client.write(`HTTP/1.1 ${statusCode} ${statusMessage}\r\n${connection}${fields}\r\n`, "latin1");
    joinEnds({ client, upstream, clientHead, upstreamHead, idleMs });
  }

  /** The upstream answers as to any request. */
  #passOn(response: IncomingMessage, idleMs: number): void {
    if (this.#isOver) return;
    const turn = this.#turn;
    this.#response = response;
    turn.closes = true;
    const { statusCode = 502, statusMessage = "", headers } = response;
    const length = headers["content-length"];
    const fields = withoutFraming(this.#fieldsOf(response));
    const bytes = length === undefined ? undefined : Number(length);
    turn.begin(statusCode, statusMessage, toLines(fields), bytes, headers.date !== undefined);
    response.on("error", ignore);
    response.on("data", (piece: Buffer) => {
      if (!turn.write(piece)) response.pause();
    });
    response.once("end", () => turn.end());
    response.once("close", () => {
      if (turn.isEnded || turn.isGone) return;
      this.#tell(new ServerError("SLUICE_UPSTREAM_UNAVAILABLE", "its response broke off"));
      turn.breakOff();
    });
    watchIdle([response], idleMs);
  }

  #fieldsOf({ rawHeaders }: IncomingMessage): string[] {
    return toClientFields(rawHeaders, this.#passage?.lines ?? "");
  }
}

type UpstreamErrorCode = "SLUICE_UPSTREAM_TIMEOUT" | "SLUICE_UPSTREAM_UNAVAILABLE";

const NO_WEBSOCKET = "it switched to something else than a WebSocket";

function ignore(): void {}
