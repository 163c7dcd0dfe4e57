// Who may use a listener: with tokens, callers that send one of them; without tokens, only programs on this machine. A web
// page in a browser on this machine is refused, because its requests name another host. Tokens are compared in constant
// time: both sides are in buffers of one length, and every token is compared.

import { timingSafeEqual } from "node:crypto";
import { ServerError, show } from "../errors.js";
import { isLocalHost } from "./web-page.js";

/** Longer tokens are refused when a listener opens. */
export const TOKEN_BYTES_MAX = 512;

const SCHEME = "bearer ";

/** The headers that decide whether a request is let in. */
export interface Credentials {
  readonly authorization?: string | undefined;
  readonly host?: string | undefined;
}

/** Why a request is not let in. */
const NO_TOKEN = -1;
const NO_LOCAL_HOST = -2;

/** Decides which requests are let in. */
export class Auth {
  readonly #tokens: readonly Buffer[];
  readonly #given = Buffer.alloc(TOKEN_BYTES_MAX);
  // Most requests name the same host as the one before.
  #latestHost = "";

  /**
   * @param tokens - Any of them lets a request in; without tokens, every program on this machine is let in.
   * @param name - Where the configuration has them, for errors.
   * @throws ServerError if a token is one that no request could carry.
   */
  constructor(tokens: readonly string[], name: string) {
    this.#tokens = tokens.map((token) => toPadded(token, name));
  }

  get needsToken(): boolean {
    return this.#tokens.length > 0;
  }

  /**
   * Lets a request in by its `Authorization` or its `Host`, and returns the index of its token; 0 if none is needed.
   *
   * @throws ServerError `SLUICE_UNAUTHORIZED` or `SLUICE_FORBIDDEN`.
   */
  admit(headers: Credentials): number {
    const place = this.#placeOf(headers);
    if (place >= 0) return place;
    const { authorization, host } = headers;
    if (place === NO_TOKEN) {
      const seen = authorization === undefined ? "got none" : "got one that is not known";
      throw new ServerError("SLUICE_UNAUTHORIZED", seen);
    }
    const seen = `without tokens the Host must be an address or localhost, got ${show(host)}`;
    throw new ServerError("SLUICE_FORBIDDEN", seen);
  }

  /** Whether a request is let in. */
  isAuthorized(headers: Credentials): boolean {
    return this.#placeOf(headers) >= 0;
  }

  #placeOf({ authorization = "", host }: Credentials): number {
    if (!this.needsToken) return this.#isLocal(host) ? 0 : NO_LOCAL_HOST;
    const isBearer = authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME;
    return isBearer ? this.#find(authorization.slice(SCHEME.length).trim()) : NO_TOKEN;
  }

  #find(token: string): number {
    if (token.length > TOKEN_BYTES_MAX) return NO_TOKEN;
    this.#given.fill(0).write(token, "latin1");
    let found = NO_TOKEN;
    for (let i = 0; i < this.#tokens.length; i++) {
      if (timingSafeEqual(this.#given, this.#tokens[i])) found = i;
    }
    return found;
  }

  #isLocal(host = ""): boolean {
    if (host !== this.#latestHost) {
      if (!isLocalHost(host)) return false;
      this.#latestHost = host;
    }
    return host !== "";
  }
}

function toPadded(token: string, name: string): Buffer {
  // Headers carry bytes: other characters could never be sent.
  if (!/^[\x21-\x7e]+$/.test(token) || token.length > TOKEN_BYTES_MAX) {
    const seen = `${name}: a token has 1 to ${TOKEN_BYTES_MAX} visible ASCII characters`;
    throw new ServerError("SLUICE_CONFIG_INVALID", seen);
  }
  const padded = Buffer.alloc(TOKEN_BYTES_MAX);
  padded.write(token, "latin1");
  return padded;
}
