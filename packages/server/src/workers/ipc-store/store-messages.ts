// How a worker calls the store in the primary: calls in batches, answers in batches, each batch one line of JSON. Lists
// instead of objects, since there are many. A counter is sent once and then known by a number.

import { deserialize, serialize } from "node:v8";
import {
  type Charge,
  type Counter,
  type CounterStatus,
  errorCatalogue,
  type RefusalReport,
  SluiceError,
  type SluiceErrorCode,
  type Verdict,
} from "sluice";

/** A charge: the number of its counter, key, cost, flags, caller ("" for none), and the request id of an act. */
export type WireCharge = readonly [
  counter: number,
  key: string,
  cost: number,
  flags: number,
  caller?: string,
  requestId?: string,
];

const IS_FINAL = 1;
const IS_SHADOW = 2;
const IS_ANY_TIER = 4;

/** A time, or null for Infinity, which JSON can't represent. */
export type WireMs = number | null;

/** A call of the store. It has no times: the primary uses its own clock, because clocks of processes differ. */
export type WireRequest =
  | readonly ["decide", readonly WireCharge[], hold: WireHold, requestId?: string]
  | readonly ["peek" | "debit" | "refund" | "reset", readonly WireCharge[]]
  | readonly ["settle", readonly (readonly [receipt: number, kept: number])[]]
  | readonly ["block", scope: string, key: string, forMs: WireMs]
  | readonly ["unblock", scope: string, key: string]
  | readonly ["escalate", readonly WireReport[]]
  | readonly ["prepare", counter: number];

/** Refusals of a key. Few are sent, so they are objects. */
export type WireReport = Omit<RefusalReport, "nowMs">;

/** Whether a charge is held: an index of {@link HOLDS}. */
export type WireHold = 0 | 1 | 2 | 3;
/** How charges are held, by their numbers. */
export const HOLDS = [false, true, "briefly", "lease"] as const;

/** A call, by the number under which its answer comes. */
export type WireCall = readonly [call: number, ask: WireRequest];

/** The calls of one iteration of a worker's event loop. */
export interface CallBatch {
  /** Whether the numbers of counters restart with this message. */
  readonly isRestart: boolean;
  readonly counters: readonly (readonly [number, Counter])[];
  readonly calls: readonly WireCall[];
}

/** A verdict, and what is in use if it is a status. */
export type WireVerdict = readonly [
  allowed: 0 | 1,
  limit: number,
  remaining: number,
  retryAfterMs: WireMs,
  resetMs: WireMs,
  delayMs: number,
  source: number,
  used?: number,
  /** 0 if the key is not blocked. */
  blockedMs?: WireMs,
];

const SOURCES = ["memory", "store", "lease", "deny-cache", "fallback"] as const;

/** A receipt: which charge it is of, its number in the primary, its cost. */
export type WireReceipt = readonly [charge: number, receipt: number, cost: number];

/** The outcome of a decision. */
export type WireOutcome = readonly [
  allowed: boolean,
  verdicts: readonly WireVerdict[],
  receipts: readonly WireReceipt[],
];

/** An error: its code, null if it is not one of the library, and its message. */
export type WireError = readonly [code: string | null, message: string];

/** An answer: its value, or an error. */
export type WireAnswer = readonly [call: number, value: unknown, error?: WireError];

/** Calls as one line. */
export function encodeCalls({ isRestart, counters, calls }: CallBatch): string {
  // Counters are sent rarely, and have values that JSON can't represent.
  const serialized = counters.length === 0 ? "" : serialize(counters).toString("base64");
  return JSON.stringify([isRestart, serialized, calls]);
}

/** Reads {@link encodeCalls}. */
export function decodeCalls(line: string): CallBatch {
  const [isRestart, serialized, calls] = JSON.parse(line) as [boolean, string, WireCall[]];
  const counters = serialized === "" ? [] : deserialize(Buffer.from(serialized, "base64"));
  return { isRestart, counters, calls };
}

/** The answers of one iteration of the primary's event loop, as one line. */
export function encodeAnswers(answers: readonly WireAnswer[]): string {
  return JSON.stringify(answers);
}

/** Reads {@link encodeAnswers}. */
export function decodeAnswers(line: string): readonly WireAnswer[] {
  return JSON.parse(line);
}

/** A charge as it is sent. */
export function toWireCharge(
  { key, cost, isFinal, shadow, caller, isAnyTier, requestId }: Charge,
  counter: number,
): WireCharge {
  const flags =
    (isFinal === true ? IS_FINAL : 0) |
    (shadow === true ? IS_SHADOW : 0) |
    (isAnyTier === true ? IS_ANY_TIER : 0);
  if (requestId !== undefined) return [counter, key, cost, flags, caller ?? "", requestId];
  return caller === undefined ? [counter, key, cost, flags] : [counter, key, cost, flags, caller];
}

/** A charge as the store takes it, at this time. */
export function fromWireCharge(
  [, key, cost, flags, caller, requestId]: WireCharge,
  counter: Counter,
  nowMs: number,
): Charge {
  const isFinal = (flags & IS_FINAL) !== 0;
  const shadow = (flags & IS_SHADOW) !== 0;
  const charge = { counter, key, cost, nowMs, isFinal, shadow, caller };
  if ((flags & IS_ANY_TIER) === 0) return charge;
  return { ...charge, caller: caller || undefined, isAnyTier: true, requestId };
}

/** A verdict as it is sent. */
export function toWireVerdict(verdict: Verdict, used?: number): WireVerdict {
  const { allowed, limit, remaining, retryAfterMs, resetMs, delayMs, source, blockedMs } = verdict;
  const from = SOURCES.indexOf(source);
  const short = [allowed ? 1 : 0, limit, remaining, retryAfterMs, resetMs, delayMs, from] as const;
  const isShort = used === undefined && blockedMs === undefined;
  return isShort ? short : [...short, used ?? 0, blockedMs ?? 0];
}

/** Reads {@link toWireVerdict}. */
export function fromWireVerdict(wire: WireVerdict): Verdict {
  const [allowed, limit, remaining, retryAfterMs, resetMs, delayMs, source, , blockedMs = 0] = wire;
  const verdict: Verdict = {
    allowed: allowed === 1,
    limit,
    remaining,
    retryAfterMs: fromWireMs(retryAfterMs),
    resetMs: fromWireMs(resetMs),
    delayMs,
    source: SOURCES[source],
  };
  return blockedMs === 0 ? verdict : { ...verdict, blockedMs: fromWireMs(blockedMs) };
}

/** A status as it is sent. */
export function toWireStatus(status: CounterStatus): WireVerdict {
  return toWireVerdict(status, status.used);
}

/** Reads {@link toWireStatus}. */
export function fromWireStatus(wire: WireVerdict): CounterStatus {
  return { ...fromWireVerdict(wire), used: wire[7] ?? 0 };
}

/** A time as the store has it. */
export function fromWireMs(ms: WireMs): number {
  return ms ?? Number.POSITIVE_INFINITY;
}

/** An error as it is sent. */
export function toWireError(error: unknown): WireError {
  if (error instanceof SluiceError) return [error.code, error.message];
  return [null, error instanceof Error ? error.message : String(error)];
}

/** The error for the caller, with its original code and message. */
export function fromWireError([code, message]: WireError): Error {
  if (code === null || !Object.hasOwn(errorCatalogue, code)) return new Error(message);
  const known = code as SluiceErrorCode;
  const summary = `${errorCatalogue[known].summary}: `;
  return new SluiceError(
    known,
    message.startsWith(summary) ? message.slice(summary.length) : message,
  );
}
