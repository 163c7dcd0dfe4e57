// Settling: a charge that was held is committed for what it really cost, or cancelled; a lease returns what was not
// spent; a reservation that was never settled expires. Each happens once.

import type { Settling } from "sluice";
import type { Account } from "../accounts/account.js";
import { type Draws, type EntryKind, type EntryRow, toEntry } from "../accounts/entry.js";
import { endExpired } from "../accounts/periods.js";
import type { BatchAccounts, EntryName, Operation } from "../commit/operation.js";
import { mustHold } from "./operator.js";

/** What a receipt of the ledger presents. */
export interface LedgerProof {
  readonly accountId: string;
  readonly sequence: number;
  readonly kind: EntryKind;
  readonly draws: Draws | undefined;
}

/** The idempotency key of what settles an entry. */
function settleKey(sequence: number): string {
  return `settle:${sequence}`;
}

/** The idempotency key of the expiry of an entry. */
function expireKey(sequence: number): string {
  return `expire:${sequence}`;
}

/** The entries that end a charge: the one that settles it, and its expiry. */
export function endingsOf({ accountId, sequence }: ChargeName): [EntryName, EntryName] {
  return [
    { accountId, idempotencyKey: settleKey(sequence) },
    { accountId, idempotencyKey: expireKey(sequence) },
  ];
}

/** The entry of a charge. */
interface ChargeName {
  readonly accountId: string;
  readonly sequence: number;
}

/** The operation that settles charges. */
export class SettleOperation implements Operation<void> {
  readonly specs = [];
  readonly ids: readonly string[];
  readonly #settlings: readonly Settling[];

  constructor(settlings: readonly Settling[]) {
    // A charge of nothing has no entry.
    this.#settlings = settlings.filter(({ receipt }) => proofOf(receipt).sequence > 0);
    this.ids = this.#settlings.map(({ receipt }) => proofOf(receipt).accountId);
  }

  lookups(): readonly EntryName[] {
    return this.#settlings.flatMap(({ receipt }) => endingsOf(proofOf(receipt)));
  }

  apply(accounts: BatchAccounts): void {
    for (const { receipt, kept } of this.#settlings) {
      mustHold(accounts.account(proofOf(receipt).accountId), -kept);
    }
    for (const settling of this.#settlings) settleOne(accounts, settling);
  }
}

function settleOne(accounts: BatchAccounts, { receipt, kept }: Settling): void {
  const proof = proofOf(receipt);
  const [settled, expired] = endingsOf(proof).map(accounts.find);
  if (settled !== undefined) return;
  const account = accounts.account(proof.accountId);
  // What has expired is back already: all that it really cost is charged.
  const held = expired === undefined ? receipt.cost : 0;
  // More than was held is drawn from what can still be used.
  if (kept > held) endExpired(account, accounts.writer);
  const amount = kept <= held ? account.putBack(held - kept, proof) : -charge(account, kept - held);
  account.append(accounts.writer, {
    kind: proof.kind === "lease" ? "return" : kept === 0 ? "cancel" : "commit",
    amount,
    idempotencyKey: settleKey(proof.sequence),
    settles: proof.sequence,
    details: { kept },
  });
  accounts.unhold(proof.accountId, proof.sequence);
}

/** The operation that returns a reservation that was not settled in time. */
export class ExpireOperation implements Operation<boolean> {
  readonly specs = [];
  readonly ids: readonly string[];
  readonly #entry: EntryRow;

  /** @param entry - The reservation. */
  constructor(entry: EntryRow) {
    this.#entry = entry;
    this.ids = [entry.account_id];
  }

  lookups(): readonly EntryName[] {
    const { account_id: accountId, sequence } = this.#entry;
    return endingsOf({ accountId, sequence });
  }

  /** Whether it was this that returned it. */
  apply(accounts: BatchAccounts): boolean {
    const { accountId, sequence, amount, details } = toEntry(this.#entry);
    const isSettled = endingsOf({ accountId, sequence }).some((name) => accounts.find(name));
    accounts.unhold(accountId, sequence);
    if (isSettled) return false;
    const account = accounts.account(accountId);
    account.append(accounts.writer, {
      kind: "expire",
      amount: account.putBack(-amount, { sequence, draws: details?.draws }),
      idempotencyKey: expireKey(sequence),
      settles: sequence,
    });
    return true;
  }
}

function charge(account: Account, units: number): number {
  account.draw(units);
  return units;
}

function proofOf({ proof }: { readonly proof: unknown }): LedgerProof {
  return proof as LedgerProof;
}
