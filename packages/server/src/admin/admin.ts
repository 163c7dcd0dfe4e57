// The admin port: metrics, health, and what the `sluice` command asks. It listens on loopback unless a token
// is configured, and answers nothing that a web page of elsewhere can make a browser send.

import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as NetServer } from "node:net";
import { ServerError } from "../base/errors.js";
import { listenAt } from "../base/http/listen.js";
import { inTurn } from "../base/http/pipelined-requests.js";
import type { Core, Listener } from "../core/core.js";
import { type AdminReply, json, problem, send } from "./admin-reply.js";
import { ClearKeys } from "./clear-keys.js";
import { Guard } from "./guard.js";
import { type AdminContext, route } from "./routes.js";
import type { AdminControl } from "./service-control.js";

export type { AdminControl, Ready } from "./service-control.js";

/** Operators and scrapers are few. */
const CONNECTIONS_MAX = 256;
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
  const guard = new Guard(core.config.admin);
  const clearKeys = new ClearKeys(guard.needsToken, core.telemetry.log);
  const context = { core, control, version: readVersion(), clearKeys };
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      requestTimeout: REQUEST_MS_MAX,
      headersTimeout: REQUEST_MS_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (message, response) => inTurn(message, response, () => void respond(message, response)),
  );
  const respond = async (message: IncomingMessage, response: ServerResponse) => {
    const answered = await answerSafely(context, guard, message);
    // Once it drains, nothing waits for a connection that is kept for later.
    if (!server.listening) response.setHeader("Connection", "close");
    send(response, answered, context.version);
    // An unread rest of a body would block the connection.
    if (!message.complete) message.resume();
  };
  server.maxConnections = CONNECTIONS_MAX;
  const url = `http://${await listenAt(server, core.config.admin.listen, "admin")}`;
  return {
    name: "admin",
    url,
    stopListening: () => void NetServer.prototype.close.call(server),
    drain: () => drain(server),
    close: () => close(server),
  };
}

async function answerSafely(
  context: AdminContext,
  guard: Guard,
  message: IncomingMessage,
): Promise<AdminReply> {
  try {
    return await answer(context, guard, message);
  } catch (error) {
    const answer = problem(error);
    if (answer.status >= 500)
      context.core.telemetry.log.error({ err: error }, "admin request failed");
    return answer;
  }
}

async function answer(
  { control, ...context }: AdminContext,
  guard: Guard,
  message: IncomingMessage,
): Promise<AdminReply> {
  const url = toUrl(message);
  const isGet = message.method === "GET" || message.method === "HEAD";
  // Probes come with whatever address they have, and have no token.
  if (isGet && url.pathname === "/livez") return json({ live: true });
  if (isGet && url.pathname === "/readyz") return toReadiness(control, guard, message);
  guard.admit(message.headers);
  return route({ control, ...context }, message, url);
}

/** Why it is not ready is for operators only. */
function toReadiness(
  control: AdminControl,
  guard: Guard,
  { headers }: IncomingMessage,
): AdminReply {
  const { ready, reasons } = control.isReady();
  return json(guard.isKnown(headers) ? { ready, reasons } : { ready }, ready ? 200 : 503);
}

function toUrl({ url = "/" }: IncomingMessage): URL {
  // The host plays no part: only path and query are read.
  const parsed = URL.canParse(url, "http://admin") ? new URL(url, "http://admin") : undefined;
  if (parsed === undefined)
    throw new ServerError("SLUICE_REQUEST_INVALID", "the path is not a valid URL");
  return parsed;
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

function readVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}
