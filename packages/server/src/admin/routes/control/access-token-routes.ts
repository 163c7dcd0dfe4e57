// Routes of access tokens: who may use this API, and in which role.

import { anyString, choice, object, optional, required } from "sluice/shapes";
import { ROLES } from "../../../control/credentials/access-tokens.js";
import { json } from "../../replies/admin-reply.js";
import { controlAnswers } from "../../replies/control-replies.js";
import { toChange } from "../../request/change-request.js";
import { controlRoute, type Route } from "../../route.js";
import { timeMs } from "./api-key-routes.js";
import { onlyReason } from "./collection-routes.js";

const path = "/v1/access-tokens";

/** The routes of access tokens. */
export const accessTokenRoutes: readonly Route[] = [
  controlRoute({
    method: "GET",
    path,
    role: "viewer",
    summary: "All access tokens, without their secrets.",
    reply: controlAnswers.accessTokens,
    handle: async ({ accessTokens }) => json({ items: await accessTokens.list(), next: null }),
  }),
  controlRoute({
    method: "POST",
    path,
    role: "admin",
    summary: "Creates an access token. The answer has its secret, which is not shown again.",
    input: object({
      name: required(anyString(100), "Who holds it, for people and for the audit log."),
      role: required(choice(ROLES), "What it may do."),
      expiresAtMs: optional(timeMs, "When it ends, in Unix milliseconds. Default: never."),
      reason: optional(anyString(1_000), "Why, for the audit log."),
    }),
    reply: controlAnswers.newAccessToken,
    status: 201,
    handle: async ({ accessTokens }, request) => {
      const { reason: _, ...input } = request.input;
      return json(await accessTokens.create(toChange(request), input), 201);
    },
  }),
  controlRoute({
    method: "DELETE",
    path: `${path}/{id}`,
    role: "admin",
    summary:
      "Revokes an access token, and ends its sessions. The last admin token can't be revoked.",
    input: onlyReason,
    reply: controlAnswers.removed,
    handle: async ({ accessTokens }, request) => {
      await accessTokens.revoke(toChange(request), request.params.id);
      return json({ id: request.params.id, removed: true });
    },
  }),
];
