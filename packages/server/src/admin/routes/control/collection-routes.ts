// The routes of a collection: plans, tenants, overrides, blocks and switches differ in their fields, their filters and
// in whether operators or the service choose the ids.

import {
  anyString,
  type Fields,
  type ObjectShape,
  object,
  optional,
  type Shape,
} from "sluice/shapes";
import type { EntityBody } from "../../../control/changes/entity.js";
import type { ControlPlane } from "../../../control/control-plane.js";
import type { Role } from "../../../control/credentials/access-tokens.js";
import type { Collection, Item } from "../../../control/entities/collection.js";
import { json, toETag, versioned } from "../../replies/admin-reply.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { toChange } from "../../request/change-request.js";
import { conditionOf, removedRevision, underCondition } from "../../request/conditions.js";
import { paging, toPage } from "../../request/paging.js";
import { controlRoute, type Route } from "../../route.js";

/** What a collection is. */
export interface CollectionRoutes<T extends EntityBody> {
  /** `/v1/plans`. */
  readonly path: string;
  /** For people: `plan`. */
  readonly noun: string;
  readonly of: (plane: ControlPlane) => Collection<T>;
  readonly shape: ObjectShape<Fields>;
  readonly one: Shape<unknown>;
  readonly page: Shape<unknown>;
  /** Who may change it. */
  readonly writer: Role;
  /** What lists can be narrowed to: the name of the parameter, and what it is. Default: nothing. */
  readonly filter?: { readonly name: string; readonly about: string };
  /** Whether the service makes ids, by POST. Default false: the path of a PUT has the id. */
  readonly makesIds?: boolean;
  /** The name of the id in the path. Default `id`. */
  readonly param?: string;
  /** Bytes of a body. Default 65,536. */
  readonly bodyBytesMax?: number;
}

const reason = optional(anyString(1_000), "Why, for the audit log.");

/** A body that says why and nothing else. */
export const onlyReason = object({ reason });

/** The fields of a body, with `reason` if it has none of its own. */
export function withReason(fields: Fields): Shape<Record<string, unknown>> {
  return object({ reason, ...fields }) as Shape<Record<string, unknown>>;
}

/** An item as it is answered. */
export function toView<T extends EntityBody>({ id, revision, body }: Item<T>) {
  return { id, revision, ...body };
}

/** The routes of a collection. */
export function collectionRoutes<T extends EntityBody>(given: CollectionRoutes<T>): Route[] {
  const making = given.makesIds === true ? [createRoute(given)] : [];
  return [listRoute(given), ...making, getRoute(given), putRoute(given), deleteRoute(given)];
}

/** Parameters by which lists are narrowed. */
type Narrowed = Readonly<Record<string, string | undefined>>;

function listRoute<T extends EntityBody>(given: CollectionRoutes<T>) {
  const { path, noun, of, page, filter, makesIds = false } = given;
  const narrowed: Fields = {
    ...(filter && { [filter.name]: optional(anyString(300), filter.about) }),
    // Generated ids have no meaningful prefix.
    ...(!makesIds && {
      prefix: optional(anyString(300), `Only ${noun}s whose id starts with this.`),
    }),
  };
  return controlRoute({
    method: "GET",
    path,
    role: "viewer",
    summary: `The ${noun}s, in the order of their ids.`,
    query: object({ ...paging, ...narrowed }),
    reply: page,
    handle: async (plane, { query }) => {
      const { after, limit } = query;
      const filters = query as Readonly<Record<string, unknown>> as Narrowed;
      const parent = filter && filters[filter.name];
      const { prefix } = filters;
      const items = await of(plane).list({ parent, prefix, after, limit: limit + 1 });
      return json(toPage(items.map(toView), limit, ({ id }) => id));
    },
  });
}

function getRoute<T extends EntityBody>(given: CollectionRoutes<T>): Route {
  const { path, noun, of, one, param = "id" } = given;
  return controlRoute({
    method: "GET",
    path: `${path}/{${param}}`,
    role: "viewer",
    summary: `A ${noun}.`,
    reply: one,
    handle: async (plane, { params }) => versioned(toView(await of(plane).get(params[param]))),
  });
}

function createRoute<T extends EntityBody>(given: CollectionRoutes<T>): Route {
  const { path, noun, of, one, shape, writer, bodyBytesMax } = given;
  return controlRoute({
    method: "POST",
    path,
    role: writer,
    summary: `Creates a ${noun}.`,
    input: withReason(shape.fields),
    ...(bodyBytesMax === undefined ? {} : { bodyBytesMax }),
    reply: one,
    status: 201,
    handle: async (plane, request) => {
      const item = await of(plane).create(toChange(request), toBody(shape, request.input));
      const headers = { ETag: toETag(item.revision), Location: `${path}/${item.id}` };
      return json(toView(item), 201, headers);
    },
  });
}

function putRoute<T extends EntityBody>(given: CollectionRoutes<T>): Route {
  const { path, noun, of, one, shape, writer, bodyBytesMax, param = "id" } = given;
  return controlRoute({
    method: "PUT",
    path: `${path}/{${param}}`,
    role: writer,
    summary: `Creates or replaces a ${noun}. Replacing one needs If-Match.`,
    input: withReason(shape.fields),
    ...(bodyBytesMax === undefined ? {} : { bodyBytesMax }),
    reply: one,
    handle: async (plane, request) => {
      const id = request.params[param];
      const condition = conditionOf(request.message.headers);
      const { revision } = condition;
      // If-Match: * replaces whatever is there, but something has to be.
      const mustExist = revision === undefined;
      const edit = { id, input: toBody(shape, request.input), revision, mustExist };
      const item = await underCondition(condition, () => of(plane).put(toChange(request), edit));
      return versioned(toView(item));
    },
  });
}

function deleteRoute<T extends EntityBody>(given: CollectionRoutes<T>): Route {
  const { path, noun, of, writer, param = "id" } = given;
  return controlRoute({
    method: "DELETE",
    path: `${path}/{${param}}`,
    role: writer,
    summary: `Removes a ${noun}.`,
    input: onlyReason,
    reply: controlAnswers.removed,
    handle: async (plane, request) => {
      const id = request.params[param];
      await of(plane).remove(toChange(request), id, removedRevision(request.message.headers));
      return json({ id, removed: true });
    },
  });
}

/** What is kept: `reason` is, where it is a field of the entity itself. */
function toBody({ fields }: ObjectShape<Fields>, input: Record<string, unknown>): unknown {
  if ("reason" in fields) return input;
  const { reason: _, ...body } = input;
  return body;
}
