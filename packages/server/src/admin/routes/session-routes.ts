// Routes of browser sessions: log in with a token, then a cookie stands for it.

import { anyString, object, required } from "sluice/shapes";
import type { Caller } from "../auth/caller.js";
import { NO_SESSION_COOKIE } from "../auth/session-cookie.js";
import { csrfTokenOf } from "../auth/sessions.js";
import { json } from "../replies/admin-reply.js";
import { controlAnswers } from "../replies/control-replies.js";
import { type Route, route } from "../route.js";
import type { AdminControl } from "../service-control.js";

const path = "/v1/session";

/** The routes of sessions. */
export const sessionRoutes: readonly Route[] = [
  route({
    method: "POST",
    path,
    role: "open",
    isRead: true,
    summary: "Logs in: sets a cookie that stands for the token.",
    input: object({ token: required(anyString(600), "admin.token, or an access token.") }),
    reply: controlAnswers.session,
    handle: ({ logins, control }, { input, message }) => {
      const { caller, cookie } = logins.logIn(input.token, message);
      return json(toView(caller, control), 200, { "Set-Cookie": cookie });
    },
  }),
  route({
    method: "GET",
    path,
    role: "viewer",
    summary: "Who asks, and the CSRF token of the session.",
    reply: controlAnswers.session,
    handle: ({ control }, { caller }) => json(toView(caller, control)),
  }),
  route({
    method: "DELETE",
    path,
    role: "viewer",
    isRead: true,
    summary: "Logs out.",
    reply: controlAnswers.session,
    handle: ({ logins, control }, { caller }) => {
      logins.logOut(caller);
      const { session: _, ...rest } = caller;
      return json(toView(rest, control), 200, { "Set-Cookie": NO_SESSION_COOKIE });
    },
  }),
];

function toView({ name, role, session }: Caller, { controlPlane }: AdminControl) {
  return {
    name,
    role,
    csrfToken: session === undefined ? null : csrfTokenOf(session),
    controlPlane: placeOf(controlPlane),
  };
}

function placeOf(controlPlane: AdminControl["controlPlane"]): "here" | "elsewhere" | "none" {
  if (controlPlane === undefined) return "none";
  return "follow" in controlPlane ? "elsewhere" : "here";
}
