// The cookie of a session: no script of a page can read it, and no page of elsewhere makes a browser send it.

const NAME = "sluice_session";
const FLAGS = "Path=/; HttpOnly; SameSite=Strict";
const VALUE = /(?:^|;)\s*sluice_session=([\w-]{1,100})\s*(?:;|$)/;

/** The session secret in a Cookie header; undefined if the header has no session cookie. */
export function readSessionCookie(header: string | undefined): string | undefined {
  return VALUE.exec(header ?? "")?.[1];
}

/** The value of Set-Cookie for a session. @param isSecure - Whether the browser's connection is encrypted. */
export function toSessionCookie(secret: string, isSecure: boolean): string {
  return `${NAME}=${secret}; ${FLAGS}${isSecure ? "; Secure" : ""}`;
}

/** The value of Set-Cookie that makes a browser forget the session. */
export const NO_SESSION_COOKIE = `${NAME}=; ${FLAGS}; Max-Age=0`;
