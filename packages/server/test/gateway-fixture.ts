// The fixture for tests of the whole gateway: upstreams that remember what they saw, and a gateway in front
// of them, in this process and over real sockets.

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Clock } from "sluice";
import type { Config, GatewayConfig, RouteConfig, UpstreamConfig } from "../src/config/config.js";
import type { Listener } from "../src/core/core.js";
import { createCore, type OwnedCore } from "../src/core/create-core.js";
import { openGateway } from "../src/gateway/gateway.js";
import { GATEWAY, ROUTES, toTestConfig, toUpstream } from "./test-config.js";

/** A request as an upstream saw it, once all of it was there. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Answers a request that is there in full. Default: 200, with the path as its body. */
export type Responder = (seen: SeenRequest, response: ServerResponse) => void;

/** An upstream that remembers. */
export class FakeUpstream {
  readonly server: Server;
  /** All requests, in the order in which they were complete. Cut by tests that send many. */
  readonly seen: SeenRequest[] = [];
  /** Request targets, as soon as the head was there. */
  readonly begun: string[] = [];
  /** Connections that are open. */
  readonly sockets = new Set<Socket>();

  constructor(answer: Responder = answerPath, options: ServerOptions = {}) {
    this.server = createServer({ keepAliveTimeout: 60_000, ...options }, (request, response) => {
      void this.#take(request, response, answer);
    });
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
    });
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    answer: Responder,
  ): Promise<void> {
    const { method = "", url = "", rawHeaders, headers } = request;
    this.begun.push(url);
    let body = "";
    request.setEncoding("latin1");
    try {
      for await (const piece of request) body += piece;
    } catch {
      // Aborted: a request that never was there in full is not one that was seen.
      return;
    }
    const seen = { method, url, rawHeaders, headers, body };
    this.seen.push(seen);
    answer(seen, response);
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

function answerPath({ url }: SeenRequest, response: ServerResponse): void {
  response.end(url);
}

/** How a fixture differs from the default. */
export interface FixtureOptions {
  readonly answer?: Responder;
  readonly upstreamServer?: ServerOptions;
  /** Default: none. */
  readonly rules?: readonly object[];
  readonly gateway?: Partial<GatewayConfig>;
  readonly upstream?: Partial<UpstreamConfig>;
  readonly routes?: readonly RouteConfig[];
  readonly config?: Partial<Config>;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** An upstream and a gateway in front of it. */
export interface GatewayFixture {
  readonly url: string;
  readonly upstream: FakeUpstream;
  readonly core: OwnedCore;
  readonly listener: Listener;
  close(): Promise<void>;
}

/** Starts both. Close the stand when done. */
export async function startFixture(options: FixtureOptions = {}): Promise<GatewayFixture> {
  const upstream = new FakeUpstream(options.answer, options.upstreamServer);
  const backend = await upstream.listen();
  const rules = { version: 1, rules: options.rules ?? [] };
  const core = createCore(
    toTestConfig({
      gateway: { ...GATEWAY, ...options.gateway },
      upstreams: new Map([["app", toUpstream([backend], options.upstream)]]),
      routes: options.routes ?? ROUTES,
      rules: { inline: rules as never },
      ...options.config,
    }),
    options.clock === undefined ? {} : { clock: options.clock },
  );
  const listener = await openGateway(core);
  const close = async () => {
    await listener.close();
    await core.close();
    upstream.close();
  };
  return { url: listener.url, upstream, core, listener, close };
}
