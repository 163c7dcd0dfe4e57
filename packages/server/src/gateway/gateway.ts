// The gateway: a server whose requests pass the request handler and are forwarded to upstreams.

import { createRequestHandler, type ReportCaller, type RequestHandler } from "sluice/http";
import {
  type Exchange,
  type Http1Bounds,
  type Http1Handler,
  Http1Server,
  type RefusalStatus,
} from "sluice-http1";
import { type CancelTimer, every } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import { listenAt } from "../base/http/listen.js";
import { TrustedProxies } from "../base/http/trusted-proxies.js";
import { toReloadLog } from "../base/tls/tls-files.js";
import { createTlsServer, type TlsServer } from "../base/tls/tls-server.js";
import type { GatewayConfig, RouteConfig } from "../config/config.js";
import { Routes } from "../config/routes.js";
import type { Core, Listener } from "../core/core.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { toChallengeOptions } from "./challenge/challenge-options.js";
import { toRefusal } from "./gateway-replies.js";
import { type DispatcherHost, RequestDispatcher } from "./request-dispatcher.js";
import { toRequestIds } from "./request-ids.js";
import { LoadShedder } from "./shedding/load-shedder.js";
import { TICK_MS } from "./upstream/connection-pool.js";
import { Upstream } from "./upstream/upstream.js";
import { toUsageReport } from "./usage-report.js";

/**
 * Opens the gateway.
 *
 * @throws ServerError `SLUICE_LISTEN_FAILED` if it can't listen on the address.
 */
export async function openGateway(core: Core): Promise<Listener> {
  const { gateway: config } = core.config;
  if (config === undefined) {
    throw new ServerError("SLUICE_CONFIG_INVALID", "there is no gateway to open");
  }
  const gateway = new Gateway(core, config);
  await gateway.listen();
  return gateway;
}

/** The gateway of one process. */
class Gateway implements Listener, DispatcherHost, Http1Handler {
  readonly name = "gateway";
  url = "";
  readonly requestHandler: RequestHandler;
  readonly telemetry: Telemetry;
  readonly bodyBytesMax: number;
  readonly rateLimitPath: string | undefined;
  readonly usagePath: string | undefined;
  readonly reportUsage: ReportCaller;
  readonly protocol: "http" | "https";
  readonly shedder: LoadShedder | undefined;
  readonly #listen: GatewayConfig["listen"];
  readonly #routes: Routes;
  readonly #upstreams = new Map<string, Upstream>();
  readonly #trusted: TrustedProxies;
  readonly #server: Http1Server;
  readonly #tls: TlsServer | undefined;
  readonly #dispatcher: RequestDispatcher;
  #stopTicks: CancelTimer | undefined = undefined;

  constructor(core: Core, gateway: GatewayConfig) {
    const { config, policy, clock, telemetry } = core;
    const { identity, responses, routes, upstreams } = config;
    const { requestIdHeader } = gateway;
    this.telemetry = telemetry;
    this.bodyBytesMax = gateway.bodyBytesMax;
    this.rateLimitPath = gateway.rateLimitPath;
    this.usagePath = gateway.usagePath;
    this.reportUsage = toUsageReport(core);
    this.protocol = gateway.tls === undefined ? "http" : "https";
    this.#listen = gateway.listen;
    this.shedder = LoadShedder.of({ config, policy, clock, telemetry, host: this });
    this.requestHandler = createRequestHandler(policy, {
      ...responses,
      identity,
      ...toChallengeOptions(config.challenge, telemetry),
      ...(requestIdHeader === undefined ? {} : toRequestIds(requestIdHeader, this)),
      // What is shed after the rules have decided is refunded.
      holdCharges: this.shedder !== undefined,
      onError: (error) => telemetry.problem("the request handler met an error", error),
    });
    this.#routes = new Routes(routes);
    for (const upstream of upstreams.values()) {
      const { name } = upstream;
      const made = new Upstream(
        upstream,
        () => clock.now(),
        (outcome, backend) => telemetry.upstream(name, outcome, backend),
        toReloadLog(telemetry.log, `of upstream ${name}`),
      );
      if (upstream.tls?.verify === false) {
        telemetry.log.warn({ upstream: name }, "tls.verify is false: certificates are not checked");
      }
      this.#upstreams.set(name, made);
    }
    this.#trusted = new TrustedProxies(identity.trustedProxies ?? []);
    this.#dispatcher = new RequestDispatcher(this);
    this.#tls = toTlsServer(gateway, telemetry);
    this.#server = new Http1Server(toBounds(gateway), this, this.#tls?.server);
  }

  async listen(): Promise<void> {
    this.url = `${this.protocol}://${await listenAt(this.#server.netServer, this.#listen, this.name)}`;
    this.#stopTicks = every(TICK_MS, () => {
      for (const upstream of this.#upstreams.values()) upstream.onTick();
    });
  }

  onExchange(exchange: Exchange): void {
    this.#dispatcher.take(exchange);
  }

  toRefusal(status: RefusalStatus): string {
    return toRefusal(status);
  }

  isPeerTrusted(peer: string | undefined): boolean {
    return this.#trusted.has(peer);
  }

  routeOf(path: string, host: string | undefined): RouteConfig | undefined {
    return this.#routes.find(path, host);
  }

  upstreamOf({ upstream }: RouteConfig): Upstream {
    const found = this.#upstreams.get(upstream);
    if (found === undefined) throw new ServerError("SLUICE_CONFIG_INVALID", `upstream ${upstream}`);
    return found;
  }

  stopListening(): void {
    this.#server.stopListening();
  }

  /** The certificates, which are watched besides. */
  async reload(): Promise<void> {
    this.#tls?.reload();
    for (const upstream of this.#upstreams.values()) upstream.reload();
  }

  async drain(): Promise<void> {
    await this.#server.drain();
    this.#release();
  }

  async close(): Promise<void> {
    await this.#server.close();
    this.#release();
  }

  #release(): void {
    this.#stopTicks?.();
    for (const upstream of this.#upstreams.values()) upstream.close();
  }
}

function toBounds(config: GatewayConfig): Http1Bounds {
  return {
    headBytesMax: config.headerBytesMax,
    fieldsMax: config.headersMax,
    headMsMax: config.headersTimeoutMs,
    requestMsMax: config.requestTimeoutMs,
    keepAliveMs: config.keepAliveMs,
    connectionsMax: config.connectionsMax,
  };
}

function toTlsServer(
  { tls, headersTimeoutMs }: GatewayConfig,
  telemetry: Telemetry,
): TlsServer | undefined {
  if (tls === undefined) return undefined;
  return createTlsServer(tls, {
    handshakeMsMax: headersTimeoutMs,
    onReload: toReloadLog(telemetry.log, "of the gateway"),
  });
}
