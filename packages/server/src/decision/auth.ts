// Bearer tokens, compared in a time that tells nothing of how much was right: both sides lie in buffers of
// one length, and every token is looked at. Without tokens the door is for programs of this machine only, and
// a web page that a browser of this machine shows is none: its requests name another host.

import { timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { ServerError } from "../errors.js";

/** Longer ones are refused when the door opens. */
const TOKEN_BYTES_MAX = 512;

const SCHEME = "bearer ";

/** What a request is let in with: the place of its token, or why it is not. */
export type Admission = number | "unauthorized" | "misdirected";

/** Decides who may ask. */
export class Auth {
  readonly #tokens: readonly Buffer[];
  readonly #given = Buffer.alloc(TOKEN_BYTES_MAX);
  // Most requests name the host of the one before.
  #latestHost = "";

  /** @param tokens - Any of them opens; without any, every program of this machine may ask. */
  constructor(tokens: readonly string[]) {
    this.#tokens = tokens.map(toPadded);
  }

  /** Lets a request in by its `Authorization` and `Host` fields. */
  admit(authorization: string | undefined, host: string | undefined): Admission {
    if (this.#tokens.length === 0) return this.#admitLocal(host);
    if (authorization === undefined || !startsWithScheme(authorization)) return "unauthorized";
    const token = authorization.slice(SCHEME.length).trim();
    if (token === "" || token.length > TOKEN_BYTES_MAX) return "unauthorized";
    this.#given.fill(0).write(token, "latin1");
    let found = -1;
    for (let i = 0; i < this.#tokens.length; i++) {
      if (timingSafeEqual(this.#given, this.#tokens[i])) found = i;
    }
    return found < 0 ? "unauthorized" : found;
  }

  #admitLocal(host: string | undefined): Admission {
    if (host !== undefined && host === this.#latestHost) return 0;
    if (host === undefined || !isLocalName(host)) return "misdirected";
    this.#latestHost = host;
    return 0;
  }
}

function startsWithScheme(authorization: string): boolean {
  return authorization.slice(0, SCHEME.length).toLowerCase() === SCHEME;
}

function toPadded(token: string, place: number): Buffer {
  // A header field carries bytes: other characters could never be sent.
  if (!/^[\x21-\x7e]+$/.test(token) || token.length > TOKEN_BYTES_MAX) {
    const seen = `decision.tokens[${place}] must be 1 to ${TOKEN_BYTES_MAX} visible ASCII characters`;
    throw new ServerError("SLUICE_CONFIG_INVALID", seen);
  }
  const padded = Buffer.alloc(TOKEN_BYTES_MAX);
  padded.write(token, "latin1");
  return padded;
}

/** Whether a Host field is an address or `localhost`, which no page on the Internet can be served from. */
function isLocalName(host: string): boolean {
  const name = host.replace(/:\d*$/, "").toLowerCase();
  return name === "localhost" || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0;
}
