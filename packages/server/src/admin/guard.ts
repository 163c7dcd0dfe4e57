// Who may ask the admin port: who brings its token, or, where it has none, programs of this machine; and never
// a web page of elsewhere through a browser, whatever token it has.

import type { IncomingHttpHeaders } from "node:http";
import { ServerError, show } from "../base/errors.js";
import { Auth } from "../base/http/auth.js";
import { isLoopback } from "../base/http/loopback.js";
import type { AdminConfig } from "../config/config.js";

/** Decides who may ask. */
export class Guard {
  readonly #auth: Auth;

  /** @throws ServerError if the port would be open to other machines without a token. */
  constructor({ token, listen }: AdminConfig) {
    if (token === undefined && !isLoopback(listen.host)) {
      const seen = `admin.listen is ${show(listen.host)}, which is no loopback address, and admin.token is not set`;
      throw new ServerError("SLUICE_CONFIG_INVALID", seen);
    }
    this.#auth = new Auth(token === undefined ? [] : [token], "admin.token");
  }

  get needsToken(): boolean {
    return this.#auth.needsToken;
  }

  /** Whether an operator asks. */
  isKnown(headers: IncomingHttpHeaders): boolean {
    return this.#auth.isAdmitted(headers);
  }

  /**
   * Lets operators in.
   *
   * @throws ServerError `SLUICE_UNAUTHORIZED`, or `SLUICE_FORBIDDEN` for what a web page of elsewhere sent.
   */
  admit(headers: IncomingHttpHeaders): void {
    const { host, origin } = headers;
    if (origin !== undefined && origin !== `http://${host}`) {
      const seen = `Origin is ${show(origin)}, which is not this port`;
      throw new ServerError("SLUICE_FORBIDDEN", seen);
    }
    this.#auth.admit(headers);
  }
}
