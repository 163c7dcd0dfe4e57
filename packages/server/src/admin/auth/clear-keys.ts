// Who may see keys as they are, addresses and users included: an operator with the token or, if the admin port has
// none, a program on this machine that confirms it with a header, or the dashboard that this port serves there. Each
// use is logged.

import type { IncomingHttpHeaders } from "node:http";
import type { Logger } from "pino";
import { readMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import { isLoopback } from "../../base/http/loopback.js";
import { isOfPage } from "../../base/http/web-page.js";
import { mayActAs } from "../../control/credentials/access-tokens.js";
import type { Caller } from "./caller.js";

/** The header field by which a caller without a token confirms, with the value `clear-keys`. */
export const CONFIRM_HEADER = "sluice-confirm";
export const CONFIRM_CLEAR_KEYS = "clear-keys";

/** A live view asks every second: one line a minute is enough. */
const LOG_EVERY_MS = 60_000;

/** Decides whether a caller may see keys in clear, and logs it. */
export class ClearKeys {
  readonly #needsToken: () => boolean;
  readonly #log: Logger;
  #loggedMs = Number.NEGATIVE_INFINITY;

  /** @param needsToken - Whether the port needs a token, which the caller has then already shown. */
  constructor(needsToken: () => boolean, log: Logger) {
    this.#needsToken = needsToken;
    this.#log = log;
  }

  /**
   * Whether keys are shown in clear, which has to be asked for.
   *
   * @throws ServerError `SLUICE_ROLE_INSUFFICIENT`, or `SLUICE_FORBIDDEN` if the port has no token and the caller did
   *   not confirm.
   */
  shows(asked: "hashed" | "clear", headers: IncomingHttpHeaders, { role }: Caller): boolean {
    if (asked === "hashed") return false;
    if (!mayActAs(role, "operator")) {
      const seen = `keys in clear need the role operator, and the caller has ${role}`;
      throw new ServerError("SLUICE_ROLE_INSUFFICIENT", seen);
    }
    this.#admit(headers);
    return true;
  }

  #admit(headers: IncomingHttpHeaders): void {
    if (!this.#needsToken() && !isConfirmed(headers)) {
      const how = `${CONFIRM_HEADER}: ${CONFIRM_CLEAR_KEYS}`;
      const seen = `keys are shown where admin.token is set, or on this machine with the header ${how}`;
      throw new ServerError("SLUICE_FORBIDDEN", seen);
    }
    const nowMs = readMs();
    if (nowMs - this.#loggedMs < LOG_EVERY_MS) return;
    this.#loggedMs = nowMs;
    this.#log.warn("an operator sees keys in clear, on the dashboard or with --clear-keys");
  }
}

/**
 * By a program of this machine, or by a page of this port. A page of elsewhere is neither: the browser says so in
 * Sec-Fetch-Site, and if its name was pointed at this machine that name is the Host.
 */
function isConfirmed(headers: IncomingHttpHeaders): boolean {
  const url = `http://${headers.host ?? ""}`;
  const host = URL.canParse(url) ? new URL(url).hostname.replaceAll(/[[\]]/g, "") : "";
  const isOwn = isOfOwnPage(headers) || !isOfPage(headers);
  return headers[CONFIRM_HEADER] === CONFIRM_CLEAR_KEYS && isLoopback(host) && isOwn;
}

/** Whether a browser says that a page of the same origin sent it. An Origin, where there is one, has to agree. */
function isOfOwnPage({ host, origin, "sec-fetch-site": site }: IncomingHttpHeaders): boolean {
  return site === "same-origin" && (origin === undefined || origin === `http://${host}`);
}
