// Who asks the admin port: callers that send `admin.token`, an access token of the control plane, or the cookie of a
// session. As long as there is no token at all, programs on this machine are admins: without a control plane, and with
// one whose first token was not made yet, as in the demo. Web pages of other origins are never let in, whatever they send.
// What a caller may do is decided by its role, in router.ts.

import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { ServerError, show } from "../../base/errors.js";
import { Auth } from "../../base/http/auth.js";
import { isLoopback } from "../../base/http/loopback.js";
import type { TrustedProxies } from "../../base/http/trusted-proxies.js";
import type { AdminConfig } from "../../config/config.js";
import { type Caller, originOf } from "./caller.js";
import { AllowedHosts } from "./hosts.js";
import type { KnownTokens } from "./known-tokens.js";
import { readSessionCookie } from "./session-cookie.js";
import { isCsrfToken, type Sessions } from "./sessions.js";

/** What a guard is made with. */
export interface AdminGuardOptions {
  readonly admin: AdminConfig;
  /** The access tokens of the control plane; undefined without one. */
  readonly tokens: KnownTokens | undefined;
  readonly sessions: Sessions;
  readonly trusted: TrustedProxies;
}

/** The header that a page sends its CSRF token in. */
export const CSRF_HEADER = "x-csrf-token";

/** The header of requests that a page sends by itself, every few seconds: they don't prolong its session. */
const BACKGROUND_HEADER = "sluice-background";

const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"]);
const SCHEME = /^bearer +/i;

/** Identifies the caller of each request. */
export class AdminGuard {
  readonly #options: AdminGuardOptions;
  readonly #hosts: AllowedHosts;
  /** Compares with `admin.token`; without a token it admits programs of this machine. */
  readonly #auth: Auth;
  readonly #hasToken: boolean;
  readonly #isLocal: boolean;

  /** @throws ServerError if the port would be open to other machines without any token. */
  constructor(options: AdminGuardOptions) {
    const { token, listen, hosts = [] } = options.admin;
    const isOpen = token === undefined && options.tokens === undefined;
    if (isOpen && !isLoopback(listen.host)) {
      const seen = `admin.listen is ${show(listen.host)}, which is not a loopback address, and admin.token is not set`;
      throw new ServerError("SLUICE_CONFIG_INVALID", seen);
    }
    this.#options = options;
    this.#hosts = new AllowedHosts(hosts);
    this.#hasToken = token !== undefined;
    this.#isLocal = isLoopback(listen.host);
    this.#auth = new Auth(token === undefined ? [] : [token], "admin.token");
  }

  /** Whether callers have to show a token. */
  get needsToken(): boolean {
    const { tokens } = this.#options;
    return this.#hasToken || (tokens !== undefined && (!this.#isLocal || tokens.hasAny));
  }

  /** @throws ServerError `SLUICE_FORBIDDEN` for what a web page of another origin sent. */
  checkOrigin({ origin, host }: IncomingHttpHeaders): void {
    if (origin === undefined || this.#hosts.isOrigin(origin, host)) return;
    const seen = `Origin is ${show(origin)}, which is not this port`;
    throw new ServerError("SLUICE_FORBIDDEN", seen);
  }

  /**
   * A page is served from a host that can't be made to lead here from elsewhere.
   *
   * @throws ServerError `SLUICE_FORBIDDEN`.
   */
  checkHost({ host }: IncomingHttpHeaders): void {
    if (this.#hosts.has(host)) return;
    const seen = `Host is ${show(host)}; a session needs an address, localhost or a name in admin.hosts`;
    throw new ServerError("SLUICE_FORBIDDEN", seen);
  }

  /** The caller; undefined if it is not known. */
  find(message: IncomingMessage): Caller | undefined {
    const { authorization, cookie } = message.headers;
    if (authorization !== undefined && this.needsToken)
      return this.findByToken(
        authorization.replace(SCHEME, ""),
        message,
        SCHEME.test(authorization),
      );
    const secret = readSessionCookie(cookie);
    const fromSession = secret === undefined ? undefined : this.#findBySession(secret, message);
    if (fromSession !== undefined || this.needsToken) return fromSession;
    if (!this.#auth.isAuthorized(message.headers) || isOfOtherSite(message.headers))
      return undefined;
    return { name: "local", role: "admin", origin: this.originOf(message) };
  }

  /** Whose token that is; undefined if it is not known. */
  findByToken(token: string, message: IncomingMessage, isBearer = true): Caller | undefined {
    const origin = this.originOf(message);
    const authorization = `Bearer ${token}`;
    if (!isBearer || token === "") return undefined;
    if (this.#hasToken && this.#auth.isAuthorized({ authorization }))
      return { name: "admin.token", role: "admin", origin };
    const found = this.#options.tokens?.check(token.trim());
    return found && { name: found.name, role: found.role, tokenId: found.id, origin };
  }

  /**
   * Who asks.
   *
   * @throws ServerError `SLUICE_UNAUTHORIZED`, or `SLUICE_FORBIDDEN` if a page did not prove that it is ours.
   */
  admit(message: IncomingMessage): Caller {
    const caller = this.find(message);
    if (caller === undefined) throw this.#toRefusal(message.headers);
    if (caller.session !== undefined) this.#checkPage(message, caller.session);
    return caller;
  }

  /** Whether a caller that was let in still would be, with the same role. Does not prolong its session. */
  isStillAdmitted(message: IncomingMessage, { session, tokenId, role }: Caller): boolean {
    if (session === undefined) return this.find(message)?.role === role;
    const { sessions, tokens } = this.#options;
    if (!sessions.has(session)) return false;
    return tokenId === undefined || tokens?.find(tokenId)?.role === role;
  }

  /** The address that a request came from. */
  originOf(message: IncomingMessage): string {
    return originOf(message, this.#options.trusted);
  }

  #findBySession(secret: string, message: IncomingMessage): Caller | undefined {
    const { sessions, tokens } = this.#options;
    const session = sessions.find(secret, message.headers[BACKGROUND_HEADER] === undefined);
    if (session === undefined) return undefined;
    const origin = this.originOf(message);
    const { tokenId } = session;
    if (tokenId === undefined)
      return { name: "admin.token", role: "admin", origin, session: secret };
    const token = tokens?.find(tokenId);
    if (token !== undefined)
      return { name: token.name, role: token.role, tokenId, origin, session: secret };
    sessions.end(secret);
    return undefined;
  }

  #checkPage({ method = "", headers }: IncomingMessage, secret: string): void {
    this.checkHost(headers);
    if (isOfOtherSite(headers)) throw otherSite(headers);
    if (SAFE_METHODS.has(method) || isCsrfToken(headers[CSRF_HEADER], secret)) return;
    const seen = "a change in a session needs its csrfToken in the header X-CSRF-Token";
    throw new ServerError("SLUICE_FORBIDDEN", seen);
  }

  #toRefusal(headers: IncomingHttpHeaders): ServerError {
    if (this.needsToken) {
      const { authorization, cookie } = headers;
      if (authorization !== undefined) return unauthorized("got one that is not known");
      const hadSession = readSessionCookie(cookie) !== undefined;
      return unauthorized(hadSession ? "the session has ended; log in again" : "got none");
    }
    if (isOfOtherSite(headers)) return otherSite(headers);
    const seen = `without tokens the Host must be an address or localhost, got ${show(headers.host)}`;
    return new ServerError("SLUICE_FORBIDDEN", seen);
  }
}

/** Whether a page of another site made the browser send it, also as an image, which has no Origin. */
function isOfOtherSite({ "sec-fetch-site": site }: IncomingHttpHeaders): boolean {
  return site !== undefined && site !== "same-origin" && site !== "none";
}

function otherSite(headers: IncomingHttpHeaders): ServerError {
  return new ServerError(
    "SLUICE_FORBIDDEN",
    `Sec-Fetch-Site is ${show(headers["sec-fetch-site"])}`,
  );
}

function unauthorized(seen: string): ServerError {
  return new ServerError("SLUICE_UNAUTHORIZED", seen);
}
