// A gateway in front of servers that a test writes itself, down to the bytes, with a core as the service
// makes it. What is started here ends with `stopAll`.

import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Socket } from "node:net";
import { eventually, onStop, stopAll } from "sluice-test-servers";
import type { Config, GatewayConfig, UpstreamConfig } from "../src/config/config.js";
import type { Listener } from "../src/core/core.js";
import { type CoreOptions, createCore, type OwnedCore } from "../src/core/create-core.js";
import { openGateway } from "../src/gateway/gateway.js";
import { GATEWAY, ROUTES, toTestConfig, toUpstream } from "./test-config.js";

const HOST = "127.0.0.1";

export { eventually, onStop, stopAll };

/** What a test changes of the usual gateway. */
export interface FixtureOptions {
  readonly gateway?: Partial<GatewayConfig>;
  readonly upstream?: Partial<UpstreamConfig>;
  readonly config?: Partial<Config>;
  readonly rules?: readonly object[];
  readonly core?: CoreOptions;
}

/** A gateway that runs. */
export interface GatewayFixture {
  readonly url: string;
  readonly listener: Listener;
  readonly core: OwnedCore;
}

/** Starts a gateway in front of backends; without rules nothing is limited. */
export async function startGateway(
  backends: string | readonly string[],
  { gateway, upstream, config, rules = [], core: coreOptions }: FixtureOptions = {},
): Promise<GatewayFixture> {
  const app = toUpstream(typeof backends === "string" ? [backends] : backends, upstream);
  const core = createCore(
    toTestConfig({
      gateway: { ...GATEWAY, ...gateway },
      upstreams: new Map([["app", app]]),
      routes: ROUTES,
      rules: { inline: { version: 1, rules } as never },
      ...config,
    }),
    coreOptions,
  );
  const listener = await openGateway(core);
  onStop(async () => {
    await listener.close();
    await core.close();
  });
  return { url: listener.url, listener, core };
}

/** Starts an upstream of node:http; its URL. */
export async function startUpstream(listener: RequestListener): Promise<string> {
  return (await startServer(listener)).url;
}

/** Starts an upstream of node:http, to be looked into. */
export async function startServer(
  listener: RequestListener,
): Promise<{ readonly url: string; readonly server: Server }> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  const url = await listen(server);
  onStop(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url, server };
}

/** Starts an upstream that does with each connection what the test says; its URL. */
export async function startRaw(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onConnection(socket);
  });
  const url = await listen(server);
  onStop(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return url;
}

/** A URL at which no server listens. */
export async function closedUrl(): Promise<string> {
  const server = createNetServer();
  const url = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return url;
}

function listen(server: ReturnType<typeof createNetServer>): Promise<string> {
  return new Promise((resolve) => {
    server.listen(0, HOST, () =>
      resolve(`http://${HOST}:${(server.address() as AddressInfo).port}`),
    );
  });
}
