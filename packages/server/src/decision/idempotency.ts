// Answers that are repeated: a request that is sent a second time with the same Idempotency-Key gets the answer of the
// first, and counts once. Answers are kept for a minute, up to a bound; a failure of the service is not kept, so that the
// request can be tried again.

import { createHash } from "node:crypto";
import { BoundedMap } from "sluice";
import { ServerError, show } from "../base/errors.js";

/**
 * The most answers that are kept; beyond it the caller (identified by token) with the most of them loses its oldest. So a
 * caller that sends ever more keys can't take away the answers of others, whose requests would be carried out twice.
 */
const ANSWERS_MAX = 10_000;
/** The most characters of all kept answers; beyond it the caller with the most characters loses its oldest. */
const ANSWERS_LENGTH_MAX = 64 * 1_024 * 1_024;
/** How long an answer is kept, in milliseconds. */
export const ANSWER_MS = 60_000;
const KEY_LENGTH_MAX = 255;

/** An answer as it was sent. */
export interface KeptAnswer {
  readonly status: number;
  readonly body: string;
}

interface KeptEntry extends KeptAnswer {
  readonly print: string;
  readonly untilMs: number;
}

/** The answers of one caller by owner, the oldest first. Without a bound of their own: that of all callers holds. */
class CallerAnswers {
  readonly byOwner = new BoundedMap<string, KeptEntry>(Number.POSITIVE_INFINITY);
  /** The characters of all of them. */
  length = 0;

  add(owner: string, entry: KeptEntry): void {
    this.drop(owner);
    this.byOwner.set(owner, entry);
    this.length += entry.body.length;
  }

  drop(owner: string): void {
    this.length -= this.byOwner.get(owner)?.body.length ?? 0;
    this.byOwner.delete(owner);
  }

  dropOldest(): void {
    const [[oldest]] = this.byOwner;
    this.drop(oldest);
  }
}

/** A request with an idempotency key. */
export interface IdempotentRequest {
  /** The place of the token that it came with. */
  readonly token: number;
  /** The key, and the token that it came with. */
  readonly owner: string;
  /** A hash of the key and the whole request. Also serves as a request id. */
  readonly print: string;
}

/** Kept answers. */
export class Idempotency {
  readonly #nowMs: () => number;
  /** By the place of its token. */
  readonly #callers = new Map<number, CallerAnswers>();
  // Bounded by the requests that are under way.
  readonly #underWay = new Map<string, string>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How many answers are kept. */
  get size(): number {
    return this.#sum(sizeOf);
  }

  /**
   * Begins a request: returns the kept answer if it was answered before. If not, {@link end} has to be called.
   *
   * @throws ServerError if the key was used with another request, or the first one is under way.
   */
  begin({ token, owner, print }: IdempotentRequest): KeptAnswer | undefined {
    const pending = this.#underWay.get(owner);
    const kept = this.#callers.get(token)?.byOwner.get(owner);
    const known = pending ?? (kept !== undefined && this.#isFresh(kept) ? kept.print : undefined);
    if (known !== undefined && known !== print) {
      throw new ServerError("SLUICE_KEY_REUSED", "send another key with it");
    }
    if (pending !== undefined) throw new ServerError("SLUICE_IN_FLIGHT", "try again later");
    if (known !== undefined) return kept;
    this.#underWay.set(owner, print);
    return undefined;
  }

  /** Ends a request with its answer, which is kept unless the service failed. */
  end({ token, owner, print }: IdempotentRequest, { status, body }: KeptAnswer): void {
    this.#underWay.delete(owner);
    if (status >= 500) return;
    const caller = this.#callers.get(token) ?? new CallerAnswers();
    this.#callers.set(token, caller);
    caller.add(owner, { print, status, body, untilMs: this.#nowMs() + ANSWER_MS });
    this.#sweep();
    while (this.#sum(sizeOf) > ANSWERS_MAX) this.#callerWithMost(sizeOf).dropOldest();
    while (this.#sum(lengthOf) > ANSWERS_LENGTH_MAX) this.#callerWithMost(lengthOf).dropOldest();
  }

  #isFresh({ untilMs }: KeptEntry): boolean {
    return untilMs > this.#nowMs();
  }

  /** Forgets answers whose time is over. */
  #sweep(): void {
    for (const caller of this.#callers.values()) {
      for (const [owner, kept] of caller.byOwner) {
        if (this.#isFresh(kept)) break;
        caller.drop(owner);
      }
    }
  }

  /** Looks at every caller: there are as many as tokens, which is few. */
  #sum(of: (caller: CallerAnswers) => number): number {
    let sum = 0;
    for (const caller of this.#callers.values()) sum += of(caller);
    return sum;
  }

  #callerWithMost(of: (caller: CallerAnswers) => number): CallerAnswers {
    return [...this.#callers.values()].reduce((a, b) => (of(b) > of(a) ? b : a));
  }
}

function sizeOf({ byOwner }: CallerAnswers): number {
  return byOwner.size;
}

function lengthOf({ length }: CallerAnswers): number {
  return length;
}

/**
 * The request that a key stands for.
 *
 * @param field - The Idempotency-Key header: a structured String, quotes included.
 * @param asked - Whose token it came with, the path and the body.
 * @throws ServerError if the header is malformed.
 */
export function toIdempotentRequest(
  field: string,
  asked: { readonly token: number; readonly path: string; readonly body: Buffer },
): IdempotentRequest {
  const key = readString(field);
  const { token } = asked;
  const owner = `${token}:${key}`;
  const hash = createHash("sha256").update(`${owner}\n${asked.path}\n`).update(asked.body);
  return { token, owner, print: hash.digest("base64url") };
}

/** A String of RFC 9651: printable ASCII in quotes, with `\"` and `\\` for those two. */
const STRING = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

function readString(field: string): string {
  const text = STRING.exec(field.trim())?.[1];
  if (text !== undefined && text !== "" && text.length <= KEY_LENGTH_MAX) {
    return text.replace(/\\(.)/g, "$1");
  }
  const what = `Idempotency-Key must be a string of 1 to ${KEY_LENGTH_MAX} characters in quotes`;
  const seen = field.startsWith('"') ? show(field) : `${show(field)} without them`;
  throw new ServerError("SLUICE_REQUEST_INVALID", `${what}, got ${seen}`);
}
