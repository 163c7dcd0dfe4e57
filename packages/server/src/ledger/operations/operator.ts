// What an operator does to an account: grants, adjustments, refunds and resets; and debits, which charge without asking.

import { type CounterStatus, SluiceError } from "sluice";
import type { Account } from "../accounts/account.js";
import type { AccountSpec } from "../accounts/account-spec.js";
import type { EntryDetails } from "../accounts/entry.js";
import type { BatchAccounts, EntryName, FindEntry, Operation } from "../commit/operation.js";
import { toVerdict } from "./verdicts.js";

/** What is done to the accounts of a list. */
export interface AccountAct {
  readonly spec: AccountSpec;
  readonly units: number;
}

/** Does something to an account, with the entry that says it. Appends nothing if it changes nothing. */
type Act = (account: Account, units: number) => number;

/** Charges without asking: units beyond what is there become debt. */
const debit: Act = (account, units) => {
  account.draw(units);
  return -units;
};
const refund: Act = (account, units) => account.refund(units);
const reset: Act = (account) => account.refund(account.refundable);

const ACTS = { debit, refund, reset };

/** What can be done to an account without a reason. */
export type ActName = keyof typeof ACTS;

/** The operation that does the same to several accounts. Resolves with how each stands afterwards. */
export class ActOperation implements Operation<readonly CounterStatus[]> {
  readonly specs: readonly AccountSpec[];
  readonly #act: Act;
  readonly #acts: readonly AccountAct[];
  readonly #idempotencyKey: string;

  constructor(name: ActName, acts: readonly AccountAct[], idempotencyKey: string) {
    this.#act = ACTS[name];
    this.#acts = acts;
    this.#idempotencyKey = idempotencyKey;
    this.specs = acts.map(({ spec }) => spec);
  }

  lookups(_find: FindEntry, isRepeated: boolean): readonly EntryName[] {
    if (!isRepeated) return [];
    return this.#acts.map(({ spec }, i) => ({
      accountId: spec.id,
      idempotencyKey: this.#keyOf(i),
    }));
  }

  apply(accounts: BatchAccounts): readonly CounterStatus[] {
    if (this.#act === debit) {
      for (const { spec, units } of this.#acts) mustHold(accounts.account(spec.id), -units);
    }
    this.#acts.forEach(({ spec, units }, i) => {
      const account = accounts.account(spec.id);
      const idempotencyKey = this.#keyOf(i);
      if (accounts.find({ accountId: spec.id, idempotencyKey }) !== undefined) return;
      const amount = this.#act(account, units);
      if (amount !== 0) account.append(accounts.writer, { kind: "adjust", amount, idempotencyKey });
    });
    return this.#acts.map(({ spec }) => toStatus(accounts.account(spec.id), accounts.writer.atMs));
  }

  #keyOf(i: number): string {
    return `${this.#idempotencyKey}#${i}`;
  }
}

/** Throws unless the sums of an account stay exact: before anything is appended. */
export function mustHold(account: Account, amount: number): void {
  if (account.canHold(amount)) return;
  const seen = `${Math.abs(amount)} units would take an account beyond ${Number.MAX_SAFE_INTEGER}`;
  throw new SluiceError("SLUICE_COST_INVALID", seen);
}

function toStatus(account: Account, nowMs: number): CounterStatus {
  const allowed = account.balance >= 0;
  return { ...toVerdict(account, 0, { allowed, nowMs }), used: Math.max(0, account.used) };
}

/** What an operator grants or adjusts. */
export interface Correction {
  readonly accountId: string;
  /** What it takes to open the account. Absent: it is open. */
  readonly spec?: AccountSpec | undefined;
  /** The account of the period before, where the same correction may have been made. */
  readonly earlierId?: string | undefined;
  /** `grant`: units that can be used until they expire. `adjust`: more or less of what is left, below zero too. */
  readonly kind: "grant" | "adjust";
  /** Above 0 for a grant. */
  readonly amount: number;
  /** Of a grant; default: the end of the period. */
  readonly expiresAtMs?: number | undefined;
  readonly actor: string;
  readonly reason: string;
  readonly idempotencyKey: string;
}

/** How an account stands after a correction. */
export interface Corrected {
  readonly accountId: string;
  readonly sequence: number;
  readonly balance: number;
  readonly granted: number;
  /** Whether the correction was made before, under the same idempotency key. */
  readonly isRepeated: boolean;
}

/**
 * Why a correction was not made: `conflict` if its key was used for something else, `ended` if the period has ended and a
 * grant would stay behind in it, `too large` if sums would not be exact any more.
 */
export type NotCorrected = "conflict" | "ended" | "too large";

/** The operation that makes a correction, once for each idempotency key. */
export class CorrectOperation implements Operation<Corrected | NotCorrected> {
  readonly specs: readonly AccountSpec[];
  readonly ids: readonly string[];
  readonly #correction: Correction;

  constructor(correction: Correction) {
    this.#correction = correction;
    this.specs = correction.spec === undefined ? [] : [correction.spec];
    this.ids = [correction.accountId];
  }

  lookups(): readonly EntryName[] {
    const { accountId, earlierId, idempotencyKey } = this.#correction;
    const ids = earlierId === undefined ? [accountId] : [accountId, earlierId];
    return ids.map((id) => ({ accountId: id, idempotencyKey }));
  }

  apply(accounts: BatchAccounts): Corrected | NotCorrected {
    const { accountId, kind, amount } = this.#correction;
    const account = accounts.account(accountId);
    const [before] = this.lookups().flatMap((name) => accounts.find(name) ?? []);
    if (before === undefined) {
      if (account.endsAtMs <= accounts.writer.atMs) return "ended";
      if (!account.canHold(amount)) return "too large";
      this.#make(account, accounts);
    } else if (before.kind !== kind || before.amount !== amount) return "conflict";
    return {
      accountId: before?.account_id ?? account.id,
      sequence: before?.sequence ?? account.sequence,
      balance: before?.balance ?? account.balance,
      granted: account.granted,
      isRepeated: before !== undefined,
    };
  }

  #make(account: Account, accounts: BatchAccounts): void {
    const { kind, amount, actor, reason, idempotencyKey } = this.#correction;
    const writer = { ...accounts.writer, actor };
    const details: EntryDetails = { reason };
    if (kind === "grant") {
      const expiresAtMs = this.#correction.expiresAtMs ?? account.endsAtMs;
      account.grant(writer, { amount, idempotencyKey, expiresAtMs, details });
      return;
    }
    if (amount > 0) account.add(amount);
    else account.draw(-amount);
    account.append(writer, { kind, amount, idempotencyKey, details });
  }
}
