// The admin port: metrics, health, and what the `sluice` command asks. It listens on loopback unless a token
// is configured, and answers nothing that a web page of elsewhere can make a browser send.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { ServerError } from "../base/errors.js";
import { listenAt } from "../base/http/listen.js";
import { inTurn } from "../base/http/pipelined-requests.js";
import { TrustedProxies } from "../base/http/trusted-proxies.js";
import { randomId } from "../base/random-id.js";
import { readVersion } from "../base/version.js";
import type { Core, Listener } from "../core/core.js";
import { ClearKeys } from "./auth/clear-keys.js";
import { AdminGuard } from "./auth/guard.js";
import { knownTokensOf } from "./auth/known-tokens.js";
import { Logins } from "./auth/logins.js";
import { Sessions } from "./auth/sessions.js";
import { Dashboard } from "./dashboard/dashboard.js";
import { FleetReader } from "./fleet/fleet-reader.js";
import { LiveFeed } from "./live/live-feed.js";
import { type AdminReply, json, problem, type StreamedReply, send } from "./replies/admin-reply.js";
import { ADMIN_HEADER } from "./replies/reply-schemas.js";
import type { AdminContext } from "./route.js";
import { Router } from "./router.js";
import { ActsOnce } from "./routes/counters/once.js";
import { ROUTES } from "./routes.js";
import type { AdminControl } from "./service-control.js";

/** The length of the random secret of a session. */
const SESSION_BYTES = 32;

export type { AdminControl, Ready } from "./service-control.js";

/** Operators, scrapers and open pages are few. */
const CONNECTIONS_MAX = 512;
/** A control node has a stream open for each follower, and more while they load snapshots. */
const CONTROL_CONNECTIONS_MAX = 10_000;
const HEADER_BYTES_MAX = 16_384;
/** Until a request has to be there, head and body. */
const REQUEST_MS_MAX = 10_000;
const KEEP_ALIVE_MS = 5_000;

/**
 * Opens the admin port.
 *
 * @throws ServerError if it would be open to other machines without a token, or can't listen.
 */
export async function openAdmin(core: Core, control: AdminControl): Promise<Listener> {
  const { guard, context } = toContext(core, control);
  const router = new Router(ROUTES, guard);
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      requestTimeout: REQUEST_MS_MAX,
      headersTimeout: REQUEST_MS_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (message, response) => inTurn(message, response, () => void respond(message, response)),
  );
  const parts = { context, guard, router, dashboard: new Dashboard() };
  const respond = async (message: IncomingMessage, response: ServerResponse) => {
    // Once it drains, nothing waits for a connection that is kept for later.
    if (!server.listening) response.setHeader("Connection", "close");
    const reply = await answerSafely(parts, message, response);
    if (reply !== undefined) send(response, reply, context.version);
    // An unread rest of a body would block the connection.
    if (!message.complete) message.resume();
  };
  const isControlNode = control.controlPlane !== undefined && !("follow" in control.controlPlane);
  server.maxConnections = isControlNode ? CONTROL_CONNECTIONS_MAX : CONNECTIONS_MAX;
  const url = `http://${await listenAt(server, core.config.admin.listen, "admin")}`;
  return {
    name: "admin",
    url,
    stopListening: () => void NetServer.prototype.close.call(server),
    drain: () => {
      context.live.close();
      return drain(server);
    },
    close: () => {
      context.live.close();
      return close(server);
    },
  };
}

interface Parts {
  readonly context: AdminContext;
  readonly guard: AdminGuard;
  readonly router: Router;
  readonly dashboard: Dashboard;
}

function toContext(core: Core, control: AdminControl): Pick<Parts, "context" | "guard"> {
  const { clock, config, telemetry } = core;
  const { controlState: state } = control;
  const nowMs = () => clock.wall?.() ?? clock.now();
  const sessions = new Sessions({
    nowMs: () => clock.now(),
    newSecret: () => randomId(SESSION_BYTES),
  });
  const trusted = new TrustedProxies(config.identity.trustedProxies ?? []);
  const tokens = state === undefined ? undefined : knownTokensOf(state, nowMs);
  const guard = new AdminGuard({ admin: config.admin, tokens, sessions, trusted });
  const clearKeys = new ClearKeys(() => guard.needsToken, telemetry.log);
  const logins = new Logins({ guard, sessions, trusted, clock, log: telemetry.log });
  const actsOnce = new ActsOnce(() => clock.now());
  const isAuthorized: AdminContext["isAuthorized"] = (message, caller) =>
    guard.isStillAdmitted(message, caller);
  const live = new LiveFeed({ core, control });
  const fleet = new FleetReader(core, control);
  const parts = { version: readVersion(), clearKeys, logins, actsOnce, live, fleet, isAuthorized };
  return { guard, context: { core, control, ...parts } };
}

/** The reply that is to be sent; undefined if it has been. */
async function answerSafely(
  parts: Parts,
  message: IncomingMessage,
  response: ServerResponse,
): Promise<AdminReply | undefined> {
  const { context } = parts;
  try {
    const reply = await answer(parts, message);
    if (!("stream" in reply)) return reply;
    response.setHeader(ADMIN_HEADER, context.version);
    await reply.stream(response);
    return undefined;
  } catch (error) {
    const failure = problem(error);
    if (failure.status >= 500)
      context.core.telemetry.log.error({ err: error }, "admin request failed");
    if (!response.headersSent) return failure;
    response.destroy();
    return undefined;
  }
}

async function answer(
  { context, guard, router, dashboard }: Parts,
  message: IncomingMessage,
): Promise<AdminReply | StreamedReply> {
  const url = toUrl(message);
  const isGet = message.method === "GET" || message.method === "HEAD";
  // Probes come with whatever address they have, and have no token.
  if (isGet && url.pathname === "/livez") return json({ live: true });
  if (isGet && url.pathname === "/readyz") return toReadiness(context.control, guard, message);
  if (isGet && dashboard.has(url.pathname)) return dashboard.answer(message, url.pathname);
  return router.answer(context, message, url);
}

/** Why it is not ready is for operators only. */
function toReadiness(
  control: AdminControl,
  guard: AdminGuard,
  message: IncomingMessage,
): AdminReply {
  const { ready, reasons } = control.isReady();
  const isKnown = guard.find(message) !== undefined;
  return json(isKnown ? { ready, reasons } : { ready }, ready ? 200 : 503);
}

function toUrl({ url = "/" }: IncomingMessage): URL {
  // The host plays no part: only path and query are read. A path that begins with // has none either, whatever a URL
  // would make of it: what a proxy in front allowed by its path must not become another one here.
  const whole = url.startsWith("/") ? `http://admin${url}` : url;
  if (URL.canParse(whole)) return new URL(whole);
  throw new ServerError("SLUICE_REQUEST_INVALID", "the path is not a valid URL");
}

function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
