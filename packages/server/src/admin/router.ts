// Finds the route of a request, and looks in this order: who asks, whether there is such a route, whether the caller's
// role may use it, whether this node can answer it. Only then are query and body read, and the route runs.

import type { IncomingMessage } from "node:http";
import { RulesError } from "sluice/rules";
import { ServerError, show } from "../base/errors.js";
import { ConflictError } from "../control/changes/changes.js";
import { mayActAs } from "../control/credentials/access-tokens.js";
import { ANONYMOUS, type Caller } from "./auth/caller.js";
import type { AdminGuard } from "./auth/guard.js";
import {
  type AdminReply,
  conflict,
  MethodError,
  type StreamedReply,
  unusableRules,
} from "./replies/admin-reply.js";
import { readBody, readQuery, withoutNul } from "./request/request-input.js";
import type { AdminContext, AdminRequest, Route } from "./route.js";

/** These are answered before a request gets here, unless its method is wrong. */
const HEALTH_PATHS: ReadonlySet<string> = new Set(["/livez", "/readyz"]);

interface Pattern {
  readonly route: Route;
  readonly path: RegExp;
}

/** Answers requests by a table of routes. */
export class Router {
  readonly #patterns: readonly Pattern[];
  readonly #guard: AdminGuard;

  constructor(routes: readonly Route[], guard: AdminGuard) {
    this.#patterns = routes.map((route) => ({ route, path: toPattern(route.path) }));
    this.#guard = guard;
  }

  /**
   * The answer to a request.
   *
   * @throws ServerError if the caller is not known or may not do that, there is no such path, or the request is wrong.
   */
  async answer(
    context: AdminContext,
    message: IncomingMessage,
    url: URL,
  ): Promise<AdminReply | StreamedReply> {
    this.#guard.checkOrigin(message.headers);
    const fitting = this.#patterns.filter(({ path }) => path.test(url.pathname));
    const method = message.method === "HEAD" ? "GET" : message.method;
    const found = fitting.find(({ route }) => route.method === method);
    const isOpen = found?.route.role === "open";
    const caller = isOpen ? ANONYMOUS : this.#guard.admit(message);
    if (found === undefined) throw toMiss(message, url, fitting);
    const { route, path } = found;
    mustBeAllowed(route, caller);
    if (route.needsControl) mustHaveControl(context, url);
    const params = { ...path.exec(url.pathname)?.groups };
    for (const name of Object.keys(params)) params[name] = decode(params[name]);
    return this.#run(context, route, {
      message,
      params,
      caller,
      query: route.query === undefined ? undefined : readQuery(route.query, url),
      input:
        route.input === undefined
          ? undefined
          : await readBody(route.input, message, route.bodyBytesMax),
    });
  }

  async #run(
    context: AdminContext,
    route: Route,
    request: AdminRequest,
  ): Promise<AdminReply | StreamedReply> {
    try {
      return await route.handle(context, request);
    } catch (error) {
      if (error instanceof ConflictError) return conflict(error, request.input);
      if (error instanceof RulesError) return unusableRules(error);
      throw error;
    }
  }
}

function mustBeAllowed({ method, path, role }: Route, caller: Caller): void {
  if (role === "open" || mayActAs(caller.role, role)) return;
  const seen = `${method} ${path} needs the role ${role}, and ${show(caller.name)} has ${caller.role}`;
  throw new ServerError("SLUICE_ROLE_INSUFFICIENT", seen);
}

function mustHaveControl({ control: { controlPlane } }: AdminContext, { pathname }: URL): void {
  if (controlPlane === undefined) {
    const how = 'set control: { database: "file:sluice.db" } in the configuration';
    throw new ServerError("SLUICE_NOT_FOUND", `${show(pathname)} needs a control plane; ${how}`);
  }
  if ("follow" in controlPlane) {
    const seen = `this node follows ${controlPlane.follow}; send ${show(pathname)} there`;
    throw new ServerError("SLUICE_NOT_CONTROL_NODE", seen);
  }
}

function toMiss({ method }: IncomingMessage, { pathname }: URL, fitting: readonly Pattern[]) {
  const methods = HEALTH_PATHS.has(pathname) ? ["GET"] : fitting.map(({ route }) => route.method);
  if (methods.length === 0) return new ServerError("SLUICE_NOT_FOUND", show(pathname));
  const allowed = methods
    .flatMap((known) => (known === "GET" ? ["GET", "HEAD"] : known))
    .join(", ");
  return new MethodError(`${show(pathname)} answers ${allowed}, got ${show(method)}`, allowed);
}

/** `/v1/plans/{id}`: a parameter is one part of the path. */
function toPattern(path: string): RegExp {
  const literal = path.replaceAll(".", "\\.");
  return new RegExp(`^${literal.replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)")}$`);
}

function decode(part: string): string {
  return withoutNul(unescaped(part), `the path has ${show(part)}`);
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ServerError(
      "SLUICE_REQUEST_INVALID",
      `the path has a broken escape in ${show(part)}`,
    );
  }
}
