// What an operator does to an account: grants, adjustments, refunds and resets; also debits, which charge even beyond
// what is left.

import { type CounterStatus, SluiceError } from "sluice";
import type { Account } from "../accounts/account.js";
import type { AccountSpec, Neighbours } from "../accounts/account-spec.js";
import { type EntryDetails, type EntryRow, toEntry } from "../accounts/entry.js";
import { endExpired } from "../accounts/periods.js";
import type { BatchAccounts, EntryName, FindEntry, Operation } from "../commit/operation.js";
import { toStatus } from "./verdicts.js";

/** What is done to one of a list of accounts. */
export interface AccountAct {
  readonly spec: AccountSpec;
  readonly units: number;
  /** Whether the quota of `spec` may be that of another tier: the account is not opened, and keeps its own. */
  readonly isAnyTier: boolean;
  /** The idempotency key of the operator's request, unique in the account. Absent: the act is not sent again. */
  readonly idempotencyKey?: string | undefined;
  /** Where an act with a key may have been done before. */
  readonly neighbours?: Neighbours | undefined;
}

/** Does something to an account. Returns what its entry adds to the balance. */
type AdjustAccount = (account: Account, units: number) => number;

/** Charges without asking: units beyond what is there become debt. */
const debit: AdjustAccount = (account, units) => {
  account.draw(units);
  return -units;
};
const refund: AdjustAccount = (account, units) => account.refund(units);
const reset: AdjustAccount = (account) => account.refund(account.refundable);

const ACTS = { debit, refund, reset };

/** What can be done to an account without a reason. */
export type ActName = keyof typeof ACTS;

/** What came of one act. */
export interface ActResult {
  /** What it added to the balance; for an act that was done before under the same key, what it added then. */
  readonly units: number;
  /** How the account stands afterwards. */
  readonly status: CounterStatus;
}

/**
 * The operation that does the same to several accounts. If the tier is not known, an account that is not open stays so:
 * nothing of it was used, and its quota depends on the tier of the next request.
 */
export class ActOperation implements Operation<readonly ActResult[]> {
  readonly specs: readonly AccountSpec[];
  readonly unopened: readonly AccountSpec[];
  readonly #act: AdjustAccount;
  readonly #acts: readonly AccountAct[];
  readonly #ownKey: string;

  /** @param ownKey - Under which this attempt is known. */
  constructor(name: ActName, acts: readonly AccountAct[], ownKey: string) {
    this.#act = ACTS[name];
    this.#acts = acts;
    this.#ownKey = ownKey;
    this.specs = acts.filter(({ isAnyTier }) => !isAnyTier).map(({ spec }) => spec);
    this.unopened = acts.flatMap(({ spec, isAnyTier, neighbours }) => [
      ...(isAnyTier ? [spec] : []),
      ...(neighbours?.contested ?? []),
    ]);
  }

  lookups(_find: FindEntry, isRepeated: boolean): readonly EntryName[] {
    return this.#acts.flatMap((act, i) =>
      isRepeated || act.idempotencyKey !== undefined ? this.#namesOf(act, i) : [],
    );
  }

  apply(accounts: BatchAccounts): readonly ActResult[] {
    const before = this.#acts.map((act, i) => this.#findBefore(act, i, accounts.find));
    if (this.#act === debit) {
      for (const { spec, units } of this.#acts) mustHold(accounts.account(spec.id), -units);
    }
    const amounts = this.#acts.map((act, i) => before[i]?.amount ?? this.#do(act, i, accounts));
    return this.#acts.map(({ spec }, i) => ({
      units: amounts[i] as number,
      status: toStatus(accounts.account(spec.id), accounts.writer.atMs),
    }));
  }

  /** The entry of the same act, done before. */
  #findBefore(act: AccountAct, i: number, find: FindEntry): EntryRow | undefined {
    const [entry] = this.#namesOf(act, i).flatMap((name) => find(name) ?? []);
    const asked = entry && toEntry(entry).details?.asked;
    if (asked === undefined || asked === act.units) return entry;
    const seen = `it came with ${asked} units before, and with ${act.units} now`;
    throw new SluiceError("SLUICE_REQUEST_ID_REUSED", seen);
  }

  /** An act that may be sent again leaves an entry even if it changed nothing: it must change nothing then too. */
  #do(act: AccountAct, i: number, accounts: BatchAccounts): number {
    const account = accounts.account(act.spec.id);
    if (!account.isOpen) return 0;
    endExpired(account, accounts.writer);
    const amount = this.#act(account, act.units);
    const isNamed = act.idempotencyKey !== undefined;
    if (amount === 0 && !isNamed) return 0;
    const idempotencyKey = this.#keyOf(act, i);
    const details = isNamed ? { asked: act.units } : undefined;
    account.append(accounts.writer, { kind: "adjust", amount, idempotencyKey, details });
    return amount;
  }

  #namesOf(act: AccountAct, i: number): EntryName[] {
    const idempotencyKey = this.#keyOf(act, i);
    const ids = [act.spec.id, ...(act.neighbours?.ids ?? [])];
    return ids.map((accountId) => ({ accountId, idempotencyKey }));
  }

  #keyOf({ idempotencyKey }: AccountAct, i: number): string {
    return idempotencyKey ?? `${this.#ownKey}#${i}`;
  }
}

/** Throws unless the sums of an account stay exact: before anything is appended. */
export function mustHold(account: Account, amount: number): void {
  if (account.canHold(amount)) return;
  const seen = `${Math.abs(amount)} units would take an account beyond ${Number.MAX_SAFE_INTEGER}`;
  throw new SluiceError("SLUICE_COST_INVALID", seen);
}

/** What an operator grants or adjusts. */
export interface Correction {
  readonly accountId: string;
  /** What it takes to open the account. Absent: it is open. */
  readonly spec?: AccountSpec | undefined;
  /** The account of another period in which the same correction was made. */
  readonly madeInId?: string | undefined;
  /** Accounts of other periods in which it may be made at the same time. */
  readonly contested?: readonly AccountSpec[];
  /** `grant`: units that can be used until they expire. `adjust`: more or less of what is left, below zero too. */
  readonly kind: "grant" | "adjust";
  /** Above 0 for a grant. */
  readonly amount: number;
  /** When a grant expires; default: the end of the period. */
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
  readonly unopened: readonly AccountSpec[];
  readonly ids: readonly string[];
  readonly #correction: Correction;

  constructor(correction: Correction) {
    const { accountId, spec, contested = [] } = correction;
    this.#correction = correction;
    this.specs = spec === undefined ? [] : [spec];
    this.unopened = contested;
    this.ids = [accountId];
  }

  lookups(): readonly EntryName[] {
    const { accountId, madeInId, idempotencyKey } = this.#correction;
    const others = this.unopened.map(({ id }) => id);
    const ids = [accountId, ...(madeInId === undefined ? [] : [madeInId]), ...others];
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
