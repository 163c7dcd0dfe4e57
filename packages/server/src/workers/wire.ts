// What a worker and the primary tell each other of the store: calls in batches, answers in batches. Lists
// instead of objects where there are many. Counters are told once and then known by a number.

import {
  type Charge,
  type Counter,
  errorCatalogue,
  SluiceError,
  type SluiceErrorCode,
} from "sluice";

/** A charge: number of its counter, key, cost, flags, and who asks. */
export type WireCharge = readonly [
  counter: number,
  key: string,
  cost: number,
  flags: number,
  caller?: string | undefined,
];

const IS_FINAL = 1;
const IS_SHADOW = 2;

/** How a list is decided, as far as that can be told to another process. */
export interface WireDecideOptions {
  readonly requestId?: string | undefined;
  readonly hold?: boolean | "briefly" | undefined;
}

/** What is asked of the store. Times are the primary's own: clocks of processes differ. */
export type WireAsk =
  | readonly ["decide", readonly WireCharge[], WireDecideOptions]
  | readonly ["peek" | "debit" | "refund" | "reset", readonly WireCharge[]]
  | readonly ["settle", readonly (readonly [receipt: number, kept: number])[]]
  | readonly ["block", scope: string, key: string, forMs: number]
  | readonly ["unblock", scope: string, key: string]
  | readonly ["prepare", counter: number];

/** A call, by the number under which its answer comes. */
export type WireCall = readonly [call: number, ask: WireAsk];

/** Calls of one turn of a worker. */
export interface CallsMessage {
  readonly sluice: "calls";
  /** Whether the numbers of counters start anew with this message. */
  readonly isAfresh: boolean;
  readonly counters: readonly (readonly [number, Counter])[];
  readonly calls: readonly WireCall[];
}

/** A receipt: which charge it is of, its number in the primary, its cost. */
export type WireReceipt = readonly [charge: number, receipt: number, cost: number];

/** An error, by its code if it is one of the library. */
export interface WireError {
  readonly code: string | undefined;
  readonly message: string;
}

/** An answer: its value, or an error. */
export type WireAnswer = readonly [call: number, value: unknown, error?: WireError];

/** Answers that were there at the end of a turn of the primary. */
export interface AnswersMessage {
  readonly sluice: "answers";
  readonly answers: readonly WireAnswer[];
}

/** Whether a message is of this kind. */
export function isMessage<M extends { readonly sluice: string }>(
  kind: M["sluice"],
  message: unknown,
): message is M {
  return (message as { sluice?: unknown } | null)?.sluice === kind;
}

/** A charge as it is sent. */
export function toWireCharge(
  { key, cost, isFinal, shadow, caller }: Charge,
  counter: number,
): WireCharge {
  const flags = (isFinal === true ? IS_FINAL : 0) | (shadow === true ? IS_SHADOW : 0);
  return caller === undefined ? [counter, key, cost, flags] : [counter, key, cost, flags, caller];
}

/** A charge as the store takes it, at this time. */
export function fromWireCharge(
  [, key, cost, flags, caller]: WireCharge,
  counter: Counter,
  nowMs: number,
): Charge {
  const isFinal = (flags & IS_FINAL) !== 0;
  const shadow = (flags & IS_SHADOW) !== 0;
  return { counter, key, cost, nowMs, isFinal, shadow, caller };
}

/** An error as it is sent. */
export function toWireError(error: unknown): WireError {
  if (error instanceof SluiceError) return { code: error.code, message: error.message };
  return { code: undefined, message: error instanceof Error ? error.message : String(error) };
}

/** An error as the caller sees it: with the code and the words that it had. */
export function fromWireError({ code, message }: WireError): Error {
  if (code === undefined || !Object.hasOwn(errorCatalogue, code)) return new Error(message);
  const known = code as SluiceErrorCode;
  const summary = `${errorCatalogue[known].summary}: `;
  return new SluiceError(
    known,
    message.startsWith(summary) ? message.slice(summary.length) : message,
  );
}
