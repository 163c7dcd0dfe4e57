// Verifies a webhook where it is received. A request that is not genuine is a value, not an error: anyone can send one.

import { timingSafeEqual } from "node:crypto";
import { systemClock } from "../../base/clock.js";
import { SluiceError, show } from "../../base/errors.js";
import { SCHEME, signatureOf, WEBHOOK_HEADERS } from "./sign-webhook.js";

/** What a webhook says. */
export interface WebhookEvent {
  /** The same in every delivery of the event: remember it, and act on each once. */
  readonly id: string;
  /** What happened. `quota.reached`: a set share of a quota is in use. */
  readonly type: string;
  /** When it happened, in Unix milliseconds. */
  readonly atMs: number;
  /** For `quota.reached`: meter, subject, sharePercent, granted, used, periodStartsAtMs and periodEndsAtMs. */
  readonly data: Readonly<Record<string, unknown>>;
}

/**
 * Why a request is not accepted:
 *
 * - `header-missing`: it has no signature or no timestamp, or they can't be read
 * - `timestamp-old`, `timestamp-ahead`: it was signed too long ago, or in the future; a replay, or a clock that is wrong
 * - `signature-wrong`: it was signed with another secret, or its body was changed
 * - `body-invalid`: the signature is right, but the body is not an event
 */
export type WebhookProblem =
  | "header-missing"
  | "timestamp-old"
  | "timestamp-ahead"
  | "signature-wrong"
  | "body-invalid";

/** What is known of a request: the event, if it is genuine. */
export type VerifiedWebhook =
  | { readonly valid: true; readonly event: WebhookEvent }
  | { readonly valid: false; readonly problem: WebhookProblem };

/** Options of {@link verifyWebhook}. */
export interface VerifyWebhookOptions {
  /** As it was received, before anything parses it: a body that is parsed and written again has another signature. */
  readonly body: string | Uint8Array;
  /** The headers of the request: those of `node:http` or of the fetch API. Names in lower case. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The secret of the webhook; while it is rotated, the new and the old one. */
  readonly secret: string | readonly string[];
  /** Default: the time of this machine, in Unix milliseconds. */
  readonly nowMs?: number;
  /** How far the time of signing may be from now, in either direction. Default 300,000, five minutes. */
  readonly toleranceMs?: number;
}

const TOLERANCE_MS = 300_000;
/** Signatures of a request that are looked at. */
const SIGNATURES_MAX = 4;

/**
 * Whether a request is a webhook of the service that has this secret, sent a moment ago, and the event that it brings.
 * The event is read from the body, which is signed; the header `Sluice-Event-Id` is not.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` without a secret, or with an empty one.
 */
export function verifyWebhook(options: VerifyWebhookOptions): VerifiedWebhook {
  const { body, headers, nowMs = wallMs(), toleranceMs = TOLERANCE_MS } = options;
  const secrets = toSecrets(options.secret);
  const timestamp = readHeader(headers, WEBHOOK_HEADERS.timestamp);
  const signatures = toSignatures(readHeader(headers, WEBHOOK_HEADERS.signature));
  if (!/^\d{1,12}$/.test(timestamp) || signatures.length === 0) return refused("header-missing");
  const isGenuine = secrets.some((secret) =>
    isSigned(signatureOf(secret, timestamp, body), signatures),
  );
  if (!isGenuine) return refused("signature-wrong");
  const ageMs = nowMs - Number(timestamp) * 1_000;
  if (ageMs > toleranceMs) return refused("timestamp-old");
  if (ageMs < -toleranceMs) return refused("timestamp-ahead");
  const event = toEvent(body);
  return event === undefined ? refused("body-invalid") : { valid: true, event };
}

function wallMs(): number {
  return systemClock.wall?.() ?? systemClock.now();
}

function refused(problem: WebhookProblem): VerifiedWebhook {
  return { valid: false, problem };
}

function toSecrets(secret: VerifyWebhookOptions["secret"]): readonly string[] {
  const secrets = typeof secret === "string" ? [secret] : secret;
  const isGood = Array.isArray(secrets) && secrets.length > 0;
  // An empty secret would accept what anyone can sign.
  if (isGood && secrets.every((each) => typeof each === "string" && each !== "")) return secrets;
  throw new SluiceError(
    "SLUICE_OPTION_INVALID",
    `secret of verifyWebhook must be a non-empty string or a list of them, got ${showSecret(secret)}`,
  );
}

/** An empty string can be shown: no other secret is. */
function showSecret(secret: unknown): string {
  return typeof secret === "object" && secret !== null ? "a list" : show(secret);
}

/** A header that is there several times is not one of ours. */
function readHeader(headers: VerifyWebhookOptions["headers"], name: string): string {
  const value = isFetchHeaders(headers) ? headers.get(name) : headers[name];
  return typeof value === "string" ? value : "";
}

function isFetchHeaders(headers: VerifyWebhookOptions["headers"]): headers is Headers {
  return typeof (headers as Headers).get === "function";
}

/** The signatures of this scheme; those of others are ignored, so that a later one can be sent along with it. */
function toSignatures(header: string): readonly Buffer[] {
  return header
    .split(",", SIGNATURES_MAX)
    .map((each) => each.trim())
    .filter((each) => each.startsWith(`${SCHEME}=`))
    .map((each) => Buffer.from(each.slice(SCHEME.length + 1), "hex"));
}

function isSigned(expected: Buffer, signatures: readonly Buffer[]): boolean {
  return signatures.some(
    (given) => given.length === expected.length && timingSafeEqual(given, expected),
  );
}

function toEvent(body: string | Uint8Array): WebhookEvent | undefined {
  try {
    const text = typeof body === "string" ? body : new TextDecoder().decode(body);
    const event = JSON.parse(text) as Partial<WebhookEvent> | null;
    return typeof event?.id === "string" && typeof event.type === "string"
      ? (event as WebhookEvent)
      : undefined;
  } catch {
    return undefined;
  }
}
