// Routes of the API keys of tenants. Their secrets are in the answers that make them, and nowhere else.

import {
  anyString,
  listOf,
  object,
  optional,
  required,
  wholeNumber,
  withDefault,
} from "sluice/shapes";
import { json } from "../../replies/admin-reply.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { toChange } from "../../request/change-request.js";
import { paging, toPage } from "../../request/paging.js";
import { controlRoute, type Route } from "../../route.js";
import { onlyReason } from "./collection-routes.js";

const path = "/v1/api-keys";
const OVERLAP_MS_MAX = 90 * 86_400_000;
const DAY_MS = 86_400_000;

const reason = optional(anyString(1_000), "Why, for the audit log.");

/** A time in Unix milliseconds. */
export const timeMs = wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER });

/** The routes of API keys. */
export const apiKeyRoutes: readonly Route[] = [
  controlRoute({
    method: "GET",
    path,
    role: "viewer",
    summary: "The API keys, without their secrets.",
    query: object({ ...paging, tenant: optional(anyString(300), "Only keys of this tenant.") }),
    reply: controlAnswers.apiKeys,
    handle: async ({ apiKeys }, { query: { after, limit, tenant } }) => {
      const keys = await apiKeys.list({
        ...(tenant === undefined ? {} : { tenant }),
        ...(after === undefined ? {} : { after }),
        limit: limit + 1,
      });
      return json(toPage(keys, limit, ({ id }) => id));
    },
  }),
  controlRoute({
    method: "POST",
    path,
    role: "admin",
    summary: "Creates an API key. The answer has its secret, which is not shown again.",
    input: object({
      tenant: required(anyString(300), "Whose key it is."),
      name: required(anyString(100), "For people."),
      scopes: withDefault(
        listOf(anyString(100), { countMin: 0, countMax: 50 }),
        [],
        "What it is for: letters, digits and any of ._:/-",
      ),
      expiresAtMs: optional(timeMs, "When it ends, in Unix milliseconds. Default: never."),
      reason,
    }),
    reply: controlAnswers.newApiKey,
    status: 201,
    handle: async ({ apiKeys }, request) => {
      const { reason: _, ...input } = request.input;
      const key = await apiKeys.create(toChange(request), input);
      return json(key, 201, { Location: `${path}/${key.id}` });
    },
  }),
  controlRoute({
    method: "GET",
    path: `${path}/{id}`,
    role: "viewer",
    summary: "An API key, without its secret.",
    reply: controlAnswers.apiKey,
    handle: async ({ apiKeys }, { params }) => json(await apiKeys.get(params.id)),
  }),
  controlRoute({
    method: "DELETE",
    path: `${path}/{id}`,
    role: "admin",
    summary: "Revokes an API key: every node refuses it within 2 s.",
    input: onlyReason,
    reply: controlAnswers.removed,
    handle: async ({ apiKeys }, request) => {
      await apiKeys.revoke(toChange(request), request.params.id);
      return json({ id: request.params.id, removed: true });
    },
  }),
  controlRoute({
    method: "POST",
    path: `${path}/{id}/rotate`,
    role: "admin",
    summary: "Creates a key in place of another, which works for `overlapMs` more.",
    input: object({
      overlapMs: withDefault(
        wholeNumber({ min: 0, max: OVERLAP_MS_MAX }),
        DAY_MS,
        "How long the old key works, in milliseconds; 0 ends it immediately.",
      ),
      reason,
    }),
    reply: controlAnswers.newApiKey,
    status: 201,
    handle: async ({ apiKeys }, request) => {
      const { overlapMs } = request.input;
      const key = await apiKeys.rotate(toChange(request), { id: request.params.id, overlapMs });
      return json(key, 201, { Location: `${path}/${key.id}` });
    },
  }),
];
