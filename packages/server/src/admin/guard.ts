// Who may ask the admin port. Without a token it is for programs of this machine only, and a web page that a
// browser of this machine shows is none: its requests name another host or another origin.

import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { AdminConfig } from "../config/config.js";
import { ServerError, show } from "../errors.js";
import { isLoopback } from "../http/loopback.js";

/** Decides who may ask. */
export class Guard {
  readonly #config: AdminConfig;
  readonly #digest: Buffer | undefined;

  /** @throws ServerError if the port would be open to other machines without a token. */
  constructor(config: AdminConfig) {
    const { token, listen } = config;
    if (token === undefined && !isLoopback(listen.host)) {
      const seen = `admin.listen is ${show(listen.host)}, which is no loopback address, and admin.token is not set`;
      throw new ServerError("SLUICE_CONFIG_INVALID", seen);
    }
    if (token !== undefined && token.trim() === "") {
      throw new ServerError("SLUICE_CONFIG_INVALID", "admin.token is empty");
    }
    this.#config = config;
    this.#digest = token === undefined ? undefined : toDigest(token);
  }

  get needsToken(): boolean {
    return this.#digest !== undefined;
  }

  /** Whether the token is right, or none is needed. */
  isKnown({ authorization }: IncomingHttpHeaders): boolean {
    if (this.#digest === undefined) return true;
    const given = /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
    // Digests have one length, and comparing them tells nothing of how much was right.
    return given !== undefined && timingSafeEqual(toDigest(given), this.#digest);
  }

  /**
   * Refuses what a web page of elsewhere sent through a browser.
   *
   * @throws ServerError `SLUICE_FORBIDDEN`.
   */
  mustBeDirect({ host, origin }: IncomingHttpHeaders): void {
    if (!this.needsToken && !this.#isOwnName(host)) {
      const seen = `Host is ${show(host)}; ask by ${this.#config.listen.host} or localhost`;
      throw new ServerError("SLUICE_FORBIDDEN", seen);
    }
    if (origin !== undefined && origin !== `http://${host}`) {
      throw new ServerError(
        "SLUICE_FORBIDDEN",
        `Origin is ${show(origin)}, which is not this port`,
      );
    }
  }

  /** A name that a page of elsewhere could be served under is none: it may lead here by now. */
  #isOwnName(host: string | undefined): boolean {
    if (host === undefined) return false;
    const name = host.replace(/:\d*$/, "").replace(/^\[(.*)\]$/, "$1");
    return isLoopback(name) || name.toLowerCase() === this.#config.listen.host.toLowerCase();
  }
}

function toDigest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
