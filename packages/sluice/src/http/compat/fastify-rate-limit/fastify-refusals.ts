// Refusals as @fastify/rate-limit answers them: callbacks are notified, an error is thrown that Fastify's
// error handling answers, and a caller that continues after too many refusals gets 403.

import type { FastifyReply, FastifyRequest } from "fastify";
import { andThen, type MaybePromise } from "../../../base/maybe-promise.js";
import type { Store } from "../../../stores/store.js";
import { replaceHead } from "../../exchange/node/response-head.js";
import type { HandledRequest } from "../../handler/handled-request.js";
import type { RequestHandler } from "../../handler/handler.js";
import type { ErrorResponseContext, FastifyLimitOptions } from "./fastify-options.js";
import { HitCounter, type Hits } from "./refused-hits.js";
import { notifyWithKey } from "./request-key.js";
import { formatTimeWindow } from "./time-window.js";

const BANNED_STATUS = 403;

/** An error for Fastify to answer, and the wait to show in place of the refusal's own. */
export interface RefusalError {
  readonly error: object;
  readonly ttlMs: number | undefined;
}

/** Answers the refusals of one limit. */
export class FastifyRefusals {
  readonly #options: FastifyLimitOptions;
  readonly #banAfter: number;
  /** Undefined if nothing depends on how many requests were refused. */
  readonly #hits: HitCounter | undefined;

  /** Undefined if refusals are answered as ours are: the limit or its body is given in our own way. */
  static of(options: FastifyLimitOptions & { store: Store }): FastifyRefusals | undefined {
    const { limit, body, onExceeded, errorResponseBuilder } = options;
    const isOurs = limit !== undefined || body !== undefined;
    if (isOurs && onExceeded === undefined && errorResponseBuilder === undefined) return undefined;
    return new FastifyRefusals(options, isOurs);
  }

  readonly #isOurs: boolean;

  private constructor(options: FastifyLimitOptions & { store: Store }, isOurs: boolean) {
    this.#options = options;
    this.#isOurs = isOurs;
    this.#banAfter = toBan(options.ban);
    const hits = new HitCounter(options);
    const isCounting = hits.isExtending || this.#banAfter !== Number.POSITIVE_INFINITY;
    this.#hits = isCounting && options.limit === undefined ? hits : undefined;
  }

  /** Whether a caller with that many requests beyond the limit is banned. */
  isBanned({ excess }: Hits): boolean {
    return excess > this.#banAfter;
  }

  /**
   * The error that Fastify's error handling answers; undefined: our own refusal. Exceptions that callbacks throw go
   * to `onError`.
   */
  toError(
    handled: HandledRequest,
    request: FastifyRequest,
    requestHandler: RequestHandler,
  ): MaybePromise<RefusalError | undefined> {
    const { onExceeded, onBanReach } = this.#options;
    notifyWithKey(onExceeded, request, requestHandler);
    if (this.#hits === undefined) return this.#build(handled, request, undefined, false);
    return andThen(this.#hits.count(handled.decision), (hits) => {
      const isBanned = this.isBanned(hits);
      if (isBanned) notifyWithKey(onBanReach, request, requestHandler);
      return this.#build(handled, request, hits.ttlMs, isBanned);
    });
  }

  #build(
    handled: HandledRequest,
    request: FastifyRequest,
    ttlMs: number | undefined,
    isBanned: boolean,
  ): MaybePromise<RefusalError | undefined> {
    const { errorResponseBuilder } = this.#options;
    if (errorResponseBuilder === undefined && this.#isOurs && !isBanned) return undefined;
    const context = toContext(handled, ttlMs, isBanned);
    return andThen(errorResponseBuilder?.(request, context), (error) => ({
      error: error ?? new ExceededError(context),
      ttlMs,
    }));
  }
}

/** Whether a caller with that many requests beyond the limit is banned. */
export function isBannedAfter(ban: unknown, excess: number): boolean {
  return excess > toBan(ban);
}

/** What is thrown for a refused request, where nothing of ours decided it. */
export function toThrown(
  { errorResponseBuilder }: FastifyLimitOptions,
  request: FastifyRequest,
  { max, ttlMs, isBanned }: { max: number; ttlMs: number; isBanned: boolean },
): MaybePromise<object> {
  const statusCode = isBanned ? BANNED_STATUS : 429;
  const after = formatTimeWindow(Math.ceil(ttlMs / 1000) * 1000);
  const context = { statusCode, ban: isBanned, after, max, ttl: ttlMs };
  return errorResponseBuilder?.(request, context) ?? new ExceededError(context);
}

const RESET = /^((?:X-)?RateLimit-Reset: )\d+|;t=\d+/gim;

/**
 * Shows another wait than the refusal's own, in every header that has one.
 *
 * @param lines - The RateLimit headers of the response.
 * @param hidden - Headers that the response goes without.
 */
export function showWait(
  reply: FastifyReply,
  lines: string,
  ttlMs: number,
  hidden: ReadonlySet<string>,
): void {
  const seconds = Math.ceil(ttlMs / 1000);
  replaceHead(
    reply.raw,
    lines.replace(RESET, (_, name?: string) => `${name ?? ";t="}${seconds}`),
  );
  if (!hidden.has("retry-after")) reply.header("Retry-After", `${seconds}`);
}

/** The number of refusals after which a caller is banned; with an invalid one, never. */
function toBan(ban: unknown): number {
  const isNumber = Number.isFinite(ban) && (ban as number) >= 0;
  return isNumber ? Math.trunc(ban as number) : Number.POSITIVE_INFINITY;
}

function toContext(
  { refusal, limit }: HandledRequest,
  ttlMs: number | undefined,
  ban: boolean,
): ErrorResponseContext {
  const ttl = ttlMs ?? refusal?.retryAfterMs ?? 0;
  const statusCode = ban ? BANNED_STATUS : (refusal?.status ?? 429);
  // Whole seconds, as Retry-After has them.
  const after = formatTimeWindow(Math.ceil(ttl / 1000) * 1000);
  return { statusCode, ban, after, max: limit, ttl };
}

/** What is thrown for a refused request. */
class ExceededError extends Error {
  readonly statusCode: number;

  constructor({ statusCode, after }: ErrorResponseContext) {
    super(`Rate limit exceeded, retry in ${after}`);
    this.statusCode = statusCode;
  }
}
