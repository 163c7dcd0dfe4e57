// Sessions of browsers: kept in the memory of this process, by a hash of their secret, and bounded in number. They end
// when the process does, after 30 minutes without use, and after 12 hours in any case. What a page asks by itself is not
// use: a page that was left open would never log out.

import { createHash, timingSafeEqual } from "node:crypto";

/** How long a session lives without use. */
export const IDLE_MS_MAX = 30 * 60_000;
/** How long a session lives at most. */
export const SESSION_MS_MAX = 12 * 3_600_000;
/** In all; the one that was used least recently makes room. */
const SESSIONS_MAX = 1_000;
/** The most sessions of one token, so that its holder can't end the sessions of others by opening many. */
const SESSIONS_OF_TOKEN_MAX = 20;

/** A session. */
export interface Session {
  /** The token that it began with; undefined for `admin.token`. */
  readonly tokenId: string | undefined;
  readonly startedMs: number;
}

interface Kept extends Session {
  seenMs: number;
}

/** What sessions are made with. */
export interface SessionsOptions {
  /** Milliseconds that never step. */
  readonly nowMs: () => number;
  readonly newSecret: () => string;
  /** Default 1,000. */
  readonly sessionsMax?: number;
}

/** Opens, finds and ends sessions. */
export class Sessions {
  /** By the hash of the secret, the one that was used last at the end. */
  readonly #sessions = new Map<string, Kept>();
  readonly #options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** How many there are, ended ones that were not asked for since included. */
  get count(): number {
    return this.#sessions.size;
  }

  /** Opens a session, and returns its secret. */
  open(tokenId: string | undefined): string {
    this.#makeRoom(tokenId);
    const nowMs = this.#options.nowMs();
    const secret = this.#options.newSecret();
    this.#sessions.set(hashOf(secret), { tokenId, startedMs: nowMs, seenMs: nowMs });
    return secret;
  }

  /**
   * The session with this secret; undefined if the secret is unknown or the session has ended.
   *
   * @param isUse - Whether it counts as used now. Default true.
   */
  find(secret: string, isUse = true): Session | undefined {
    const hash = hashOf(secret);
    const session = this.#sessions.get(hash);
    if (session === undefined) return undefined;
    if (this.#isOver(session)) {
      this.#sessions.delete(hash);
      return undefined;
    }
    if (isUse) this.#use(hash, session);
    return session;
  }

  /** Whether a session is there and has not ended. It does not count as used. */
  has(secret: string): boolean {
    const session = this.#sessions.get(hashOf(secret));
    return session !== undefined && !this.#isOver(session);
  }

  /** Ends a session. */
  end(secret: string): void {
    this.#sessions.delete(hashOf(secret));
  }

  #use(hash: string, session: Kept): void {
    session.seenMs = this.#options.nowMs();
    this.#sessions.delete(hash);
    this.#sessions.set(hash, session);
  }

  #isOver({ startedMs, seenMs }: Kept): boolean {
    const nowMs = this.#options.nowMs();
    return nowMs - seenMs >= IDLE_MS_MAX || nowMs - startedMs >= SESSION_MS_MAX;
  }

  #makeRoom(tokenId: string | undefined): void {
    for (const [hash, session] of this.#sessions)
      if (this.#isOver(session)) this.#sessions.delete(hash);
    const same = [...this.#sessions].filter(([, session]) => session.tokenId === tokenId);
    const tooMany = Math.max(0, same.length - SESSIONS_OF_TOKEN_MAX + 1);
    for (const [hash] of same.slice(0, tooMany)) this.#sessions.delete(hash);
    const { sessionsMax = SESSIONS_MAX } = this.#options;
    for (const hash of this.#sessions.keys()) {
      if (this.#sessions.size < sessionsMax) return;
      this.#sessions.delete(hash);
    }
  }
}

/** What a page has to send with every change: it follows from the secret, which the page can't read. */
export function csrfTokenOf(secret: string): string {
  return createHash("sha256").update(`csrf ${secret}`).digest("base64url");
}

/** Whether that is the token of the session. */
export function isCsrfToken(sent: unknown, secret: string): boolean {
  const expected = Buffer.from(csrfTokenOf(secret));
  const given = Buffer.from(typeof sent === "string" ? sent : "");
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("base64url");
}
