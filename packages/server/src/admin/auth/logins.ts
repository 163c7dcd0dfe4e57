// Logging in and out. Failed attempts are limited for each address, by a limiter of Sluice itself: an attempt is charged
// before the token is looked at, and refunded if it is right, so that parallel attempts count too.

import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import type { Logger } from "pino";
import { type Clock, createLimiter, fixedWindow, type Limiter, memoryStore } from "sluice";
import { ServerError } from "../../base/errors.js";
import type { TrustedProxies } from "../../base/http/trusted-proxies.js";
import { type Caller, isSecure } from "./caller.js";
import type { AdminGuard } from "./guard.js";
import { toSessionCookie } from "./session-cookie.js";
import type { Sessions } from "./sessions.js";

/** Failed logins of one address. */
const FAILED_MAX = 10;
const FAILED_WINDOW_MS = 10 * 60_000;
const ADDRESSES_MAX = 10_000;

/** What logging in needs. */
export interface LoginsOptions {
  readonly guard: AdminGuard;
  readonly sessions: Sessions;
  readonly trusted: TrustedProxies;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Too many failed logins. */
export class LoginLimitedError extends ServerError {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    const seconds = Math.ceil(retryAfterMs / 1_000);
    super("SLUICE_LOGIN_LIMITED", `${FAILED_MAX} logins failed; try again in ${seconds} s`);
    this.retryAfterMs = retryAfterMs;
  }
}

/** A session that was just opened. */
export interface Login {
  readonly caller: Caller;
  /** The value of Set-Cookie. */
  readonly cookie: string;
}

/** Opens and ends sessions. */
export class Logins {
  readonly #options: LoginsOptions;
  readonly #limiter: Limiter;

  constructor(options: LoginsOptions) {
    this.#options = options;
    this.#limiter = createLimiter({
      name: "admin-logins",
      limit: fixedWindow({ limit: FAILED_MAX, windowMs: FAILED_WINDOW_MS }),
      store: memoryStore({ keysMax: ADDRESSES_MAX }),
      clock: options.clock,
    });
  }

  /**
   * Opens a session for the holder of a token.
   *
   * @throws ServerError `SLUICE_LOGIN_LIMITED`, `SLUICE_UNAUTHORIZED`, or `SLUICE_FORBIDDEN` if the host could be that
   *   of a page of elsewhere.
   */
  logIn(token: string, message: IncomingMessage): Login {
    const { guard, sessions, trusted, log } = this.#options;
    guard.checkHost(message.headers);
    const origin = guard.originOf(message);
    const place = toPlace(origin);
    const { allowed, retryAfterMs } = this.#limiter.check(place);
    if (!allowed) throw new LoginLimitedError(retryAfterMs);
    const caller = guard.findByToken(token, message);
    if (caller === undefined || caller.role === "node") {
      log.warn({ origin }, "a login failed");
      throw new ServerError("SLUICE_UNAUTHORIZED", "got one that is not known");
    }
    this.#limiter.refund(place, 1);
    log.info({ origin, actor: caller.name, role: caller.role }, "logged in");
    const session = sessions.open(caller.tokenId);
    const cookie = toSessionCookie(session, isSecure(message, trusted));
    return { caller: { ...caller, session }, cookie };
  }

  /** Ends the session of a caller, if it has one. */
  logOut({ session, name }: Caller): void {
    if (session === undefined) return;
    this.#options.sessions.end(session);
    this.#options.log.info({ actor: name }, "logged out");
  }

  /** Releases what the limiter holds. */
  close(): void {
    this.#limiter.close();
  }
}

/** One network of IPv6 counts as one address: a single client has all of it. */
function toPlace(address: string): string {
  if (!isIPv6(address)) return address === "" ? "unknown" : address;
  const [head] = address.split("::", 1);
  const groups = head.split(":").filter((group) => group !== "");
  return [...groups, "0", "0", "0", "0"].slice(0, 4).join(":");
}
