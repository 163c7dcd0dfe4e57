// Routes of browser sessions: log in with a token, then a cookie stands for it.

import { anyString, object, required } from "sluice/shapes";
import { json } from "../admin-reply.js";
import type { Caller } from "../auth/caller.js";
import { NO_SESSION_COOKIE } from "../auth/session-cookie.js";
import { csrfTokenOf } from "../auth/sessions.js";
import { controlAnswers } from "../control-replies.js";
import { type Route, route } from "../route.js";

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
    handle: ({ logins }, { input, message }) => {
      const { caller, cookie } = logins.logIn(input.token, message);
      return json(toView(caller), 200, { "Set-Cookie": cookie });
    },
  }),
  route({
    method: "GET",
    path,
    role: "viewer",
    summary: "Who asks, and the CSRF token of the session.",
    reply: controlAnswers.session,
    handle: (_, { caller }) => json(toView(caller)),
  }),
  route({
    method: "DELETE",
    path,
    role: "viewer",
    isRead: true,
    summary: "Logs out.",
    reply: controlAnswers.session,
    handle: ({ logins }, { caller }) => {
      logins.logOut(caller);
      const { session: _, ...rest } = caller;
      return json(toView(rest), 200, { "Set-Cookie": NO_SESSION_COOKIE });
    },
  }),
];

function toView({ name, role, session }: Caller) {
  return { name, role, csrfToken: session === undefined ? null : csrfTokenOf(session) };
}
