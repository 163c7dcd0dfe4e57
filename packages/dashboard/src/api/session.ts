// Who uses the page: asked at the start, set by the login, gone when the service says that the session has ended.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { ApiError, ask, setCsrfToken } from "./client.js";

/** The caller, as the service knows it. */
export type Session = ReplyOf<"session">;

/** What may be shown and done. The service checks it too; the page only leaves out what would be refused. */
export type Role = "viewer" | "operator" | "admin";

const RANKS: readonly string[] = ["viewer", "operator", "admin"];

/** Whether a user with the role `mine` may do all that `other` may. */
export function mayAsMuch(mine: string, other: string): boolean {
  return RANKS.indexOf(mine) >= RANKS.indexOf(other);
}

/** The session of the page; every page has one. */
export const SessionContext = createContext<Session>({ name: "", role: "viewer", csrfToken: null });

/** Who uses the page. */
export function useSession(): Session {
  return useContext(SessionContext);
}

/** Whether the session has ended, so that the login covers the page. */
export const SessionEndedContext = createContext(false);

/** Whether the login covers the page until the user has logged in again. */
export function useHasSessionEnded(): boolean {
  return useContext(SessionEndedContext);
}

/** Whether the user may do what needs this role. */
export function useMay(role: Role): boolean {
  return mayAsMuch(useSession().role, role);
}

/** Sent with questions for keys in clear: without a login, the page has to confirm that it means it. */
export const CLEAR_KEYS: Readonly<Record<string, string>> = { "Sluice-Confirm": "clear-keys" };

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Whether keys can be shown to the user as they are counted: an operator who has logged in, or is on this machine. */
export function useSeesKeys(): boolean {
  const { csrfToken } = useSession();
  return useMay("operator") && (csrfToken !== null || LOOPBACK.test(location.hostname));
}

/** Whether the rules are kept in a control plane: of this node, of another one, or of none. */
export function useControlPlane(): "here" | "elsewhere" | "none" {
  return useSession().controlPlane ?? "here";
}

/**
 * Who the service takes the page for; undefined if it wants a login.
 *
 * @throws ApiError if it does not answer.
 */
export async function findSession(): Promise<Session | undefined> {
  try {
    return keep(await ask("session", "/v1/session"));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined;
    throw error;
  }
}

/** @throws ApiError if the token is not known, or too many were tried. */
export async function logIn(token: string): Promise<Session> {
  return keep(await ask("session", "/v1/session", { method: "POST", body: { token } }));
}

/** Ends the session. */
export async function logOut(): Promise<void> {
  await ask("session", "/v1/session", { method: "DELETE" });
  setCsrfToken(null);
}

function keep(session: Session): Session {
  setCsrfToken(session.csrfToken);
  return session;
}
