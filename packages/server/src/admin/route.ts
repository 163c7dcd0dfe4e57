// What a route of the admin port is: its method and path, the role that it needs, and the shapes of what it takes and
// answers. The router, the OpenAPI document and the test of roles are all made of these declarations.

import type { IncomingMessage } from "node:http";
import type { MaybePromise } from "sluice";
import { object, type Shape } from "sluice/shapes";
import type { ControlPlane } from "../control/control-plane.js";
import type { Role } from "../control/credentials/access-tokens.js";
import type { Core } from "../core/core.js";
import type { Caller } from "./auth/caller.js";
import type { ClearKeys } from "./auth/clear-keys.js";
import type { Logins } from "./auth/logins.js";
import type { FleetReader } from "./fleet/fleet-reader.js";
import type { LiveFeed } from "./live/live-feed.js";
import type { AdminReply, StreamedReply } from "./replies/admin-reply.js";
import type { ActsOnce } from "./routes/counters/once.js";
import type { AdminControl } from "./service-control.js";

/** The methods that routes answer. HEAD is GET without its body. */
export type Method = "GET" | "POST" | "PUT" | "DELETE";

/** Who may use a route: every caller, or callers whose role includes this one. */
export type RouteRole = "open" | Role;

/** What routes are given. */
export interface AdminContext {
  readonly core: Core;
  readonly control: AdminControl;
  /** The version of the package. */
  readonly version: string;
  /** Which callers see keys in clear. */
  readonly clearKeys: ClearKeys;
  /** Sessions of browsers. */
  readonly logins: Logins;
  /** What pages are sent each second. */
  readonly live: LiveFeed;
  /** What all nodes know of callers. */
  readonly fleet: FleetReader;
  /** Whether a caller that was let in still would be; unlike a request, asking does not prolong its session. */
  isAuthorized(message: IncomingMessage, caller: Caller): boolean;
  /** Acts on counters that came with an Idempotency-Key. */
  readonly actsOnce: ActsOnce;
}

/** One request, read and checked. */
export interface AdminRequest<Query = unknown, Input = unknown> {
  readonly message: IncomingMessage;
  /** Parts of the path that differ, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly input: Input;
  readonly caller: Caller;
}

/** A route without what runs it. */
interface Declaration<Query, Input> {
  readonly method: Method;
  /** `/v1/rules/{id}/disable`. */
  readonly path: string;
  readonly role: RouteRole;
  /** One sentence for the OpenAPI document. */
  readonly summary: string;
  /** Whether the route changes nothing although its method is not GET, so that a viewer may use it. Default false. */
  readonly isRead?: boolean;
  /** Default: the query is not read. */
  readonly query?: Shape<Query>;
  /** Default: no body is read. */
  readonly input?: Shape<Input>;
  /** Bytes of a body. Default 65,536. */
  readonly bodyBytesMax?: number;
  /** The shape of the answer's body; undefined if it is not JSON. */
  readonly reply: Shape<unknown> | undefined;
  /** The status of the answer. Default 200. */
  readonly status?: number;
}

/** What a route is declared with. */
export interface RouteOptions<Query, Input> extends Declaration<Query, Input> {
  handle(
    context: AdminContext,
    request: AdminRequest<Query, Input>,
  ): MaybePromise<AdminReply | StreamedReply>;
}

/** A route. */
export interface Route extends Declaration<unknown, unknown> {
  /** Whether it is answered only by a control node. */
  readonly needsControl: boolean;
  readonly handle: (
    context: AdminContext,
    request: AdminRequest,
  ) => MaybePromise<AdminReply | StreamedReply>;
}

/** What a route of the control plane is declared with. */
export interface ControlRouteOptions<Query, Input> extends Declaration<Query, Input> {
  handle(
    plane: ControlPlane,
    request: AdminRequest<Query, Input>,
    context: AdminContext,
  ): MaybePromise<AdminReply | StreamedReply>;
}

/** Declares a route. */
export function route<Query = unknown, Input = unknown>(
  options: RouteOptions<Query, Input>,
): Route {
  return { ...(options as RouteOptions<unknown, unknown>), needsControl: false };
}

/** Declares a route that only a control node answers. */
export function controlRoute<Query = unknown, Input = unknown>(
  options: ControlRouteOptions<Query, Input>,
): Route {
  const handle = (context: AdminContext, request: AdminRequest) => {
    const { controlPlane } = context.control;
    // The router has looked already.
    if (controlPlane === undefined || "follow" in controlPlane) throw new Error("no control plane");
    return options.handle(controlPlane, request as AdminRequest<Query, Input>, context);
  };
  return { ...(options as Declaration<unknown, unknown>), handle, needsControl: true };
}

/** A body without fields. */
export const nothing = object({});
