// Charges of a request: each to its account, all or none. A request that was admitted before under the same id is
// answered as it was.

import { type Charge, type ChargeReceipt, type Outcome, SluiceError, type Verdict } from "sluice";
import type { AccountSpec, Neighbours } from "../accounts/account-spec.js";
import { type Draws, type EntryRow, toEntry } from "../accounts/entry.js";
import type { BatchAccounts, EntryName, FindEntry, Operation } from "../commit/operation.js";
import { endingsOf, type LedgerProof } from "./settle.js";
import { toBlocked, toVerdict } from "./verdicts.js";

/** How a request is charged. */
export type ChargeKind = "use" | "reserve" | "lease";

/** A request to be charged. */
export interface ChargeRequest {
  readonly charges: readonly Charge[];
  /** One for each charge. */
  readonly specs: readonly AccountSpec[];
  /** One for each charge; empty if the request is not named. */
  readonly neighbours: readonly Neighbours[];
  readonly kind: ChargeKind;
  readonly idempotencyKey: string;
  /** Whether the key is the caller's, who may send the request again. */
  readonly isNamed: boolean;
  readonly wantsReceipts: boolean;
  /** When a reservation or lease expires. */
  readonly expiresAtMs: number;
}

/** Under one id, a request may be cancelled and sent again this many times. */
const ATTEMPTS_MAX = 5;

/** The operation that charges a request. */
export class ChargeOperation implements Operation<Outcome> {
  readonly specs: readonly AccountSpec[];
  readonly unopened: readonly AccountSpec[];
  readonly #request: ChargeRequest;

  constructor(request: ChargeRequest) {
    this.#request = request;
    this.specs = request.specs;
    this.unopened = request.neighbours.flatMap(({ contested }) => contested);
  }

  lookups(find: FindEntry, isRepeated: boolean): readonly EntryName[] {
    if (!this.#request.isNamed && !isRepeated) return [];
    return this.specs.flatMap((_, i) => this.#namesOf(i, find));
  }

  apply(accounts: BatchAccounts): Outcome {
    const found = this.specs.map((_, i) => this.#latest(i, accounts.find));
    const before = found.map(({ entry }) => entry);
    if (before.some((entry) => entry !== undefined)) return this.#recall(accounts, before);
    const { charges } = this.#request;
    const passes = this.#weigh(accounts);
    const isAllowed = charges.every(({ shadow }, i) => passes[i] === true || shadow === true);
    if (!isAllowed) return this.#refuse(accounts);
    const keys = found.map(({ key }) => key);
    const receipts = charges.flatMap((charge, i) =>
      passes[i] === true ? [this.#take(accounts, charge, i, keys[i] as string)] : [],
    );
    const verdicts = charges.map((charge, i) =>
      toVerdict(accounts.account(this.#idOf(i)), charge.cost, {
        allowed: passes[i] === true,
        nowMs: accounts.writer.atMs,
      }),
    );
    return { allowed: true, verdicts, receipts: this.#request.wantsReceipts ? receipts : [] };
  }

  /** The entries of one charge: of each attempt under this id, and of what settled it. */
  #namesOf(i: number, find: FindEntry): EntryName[] {
    const names: EntryName[] = [];
    for (const accountId of this.#idsOf(i)) {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const name = { accountId, idempotencyKey: this.#keyOf(i, attempt) };
        names.push(name);
        const entry = find(name);
        if (entry === undefined) break;
        names.push(...endingsOf({ accountId, sequence: entry.sequence }));
        if (!isUndone(entry, find)) break;
      }
    }
    return names;
  }

  /** The charge's entry that counts, or else the key under which it is to be written. */
  #latest(i: number, find: FindEntry): { entry?: EntryRow; key: string } {
    let key = this.#keyOf(i, 0);
    for (const accountId of this.#idsOf(i)) {
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        key = this.#keyOf(i, attempt);
        const entry = find({ accountId, idempotencyKey: key });
        if (entry === undefined) break;
        if (!isUndone(entry, find)) return { entry, key };
        if (attempt === ATTEMPTS_MAX - 1) throw reused(this.#request.idempotencyKey);
      }
    }
    return { key };
  }

  /** The accounts of other periods come first: their keys decide only if an entry is found there. */
  #idsOf(i: number): string[] {
    return [...(this.#request.neighbours[i]?.ids ?? []), this.#idOf(i)];
  }

  #idOf(i: number): string {
    return (this.specs[i] as AccountSpec).id;
  }

  /**
   * Several charges of a request on one account have a key each, and so has each attempt. What distinguishes them stands
   * before the id (`request~1:a`): behind it, it could be part of another request's id.
   */
  #keyOf(i: number, attempt: number): string {
    const { idempotencyKey } = this.#request;
    const same = this.specs.slice(0, i).filter(({ id }) => id === this.#idOf(i)).length;
    if (same === 0 && attempt === 0) return idempotencyKey;
    const at = idempotencyKey.indexOf(":");
    const mark = `${same === 0 ? "" : `#${same}`}${attempt === 0 ? "" : `~${attempt}`}`;
    return `${idempotencyKey.slice(0, at)}${mark}${idempotencyKey.slice(at)}`;
  }

  /** Whether each charge passes, on what the ones before it leave. */
  #weigh(accounts: BatchAccounts): boolean[] {
    const { atMs } = accounts.writer;
    const planned = new Map<string, number>();
    const weighOne = ({ cost }: Charge, i: number) => {
      const id = this.#idOf(i);
      const units = (planned.get(id) ?? 0) + cost;
      const fits = units <= accounts.account(id).balance;
      const passes = fits && accounts.blockedUntilMs(id) <= atMs;
      if (passes) planned.set(id, units);
      return passes;
    };
    // Shadows get what the enforced ones leave.
    const { charges } = this.#request;
    const passes = charges.map((charge, i) => charge.shadow !== true && weighOne(charge, i));
    return charges.map((charge, i) =>
      charge.shadow === true ? weighOne(charge, i) : (passes[i] as boolean),
    );
  }

  #take(accounts: BatchAccounts, charge: Charge, i: number, key: string): ChargeReceipt {
    const account = accounts.account(this.#idOf(i));
    const { kind, expiresAtMs } = this.#request;
    const { counter, cost } = charge;
    const held = charge.isFinal === true ? "use" : kind;
    const draws = cost === 0 ? undefined : account.draw(cost);
    if (cost > 0) {
      const details = toDetails(draws, held === "use" ? undefined : expiresAtMs);
      const amount = -cost;
      account.append(accounts.writer, { kind: held, amount, idempotencyKey: key, details });
      const hold = { accountId: account.id, sequence: account.sequence, amount: cost, expiresAtMs };
      if (held !== "use") accounts.hold({ kind: held, ...hold });
    }
    const proof: LedgerProof = {
      accountId: account.id,
      sequence: cost > 0 ? account.sequence : 0,
      kind: held,
      draws,
    };
    return { counter, key: charge.key, cost, proof };
  }

  #refuse(accounts: BatchAccounts): Outcome {
    const nowMs = accounts.writer.atMs;
    const verdicts = this.#request.charges.map(({ cost }, i) => {
      const account = accounts.account(this.#idOf(i));
      const allowed = cost <= account.balance;
      const verdict = toVerdict(account, cost, { allowed, nowMs });
      return toBlocked(verdict, accounts.blockedUntilMs(account.id) - nowMs);
    });
    return { allowed: false, verdicts, receipts: [] };
  }

  #recall(accounts: BatchAccounts, before: readonly (EntryRow | undefined)[]): Outcome {
    const { charges, kind, idempotencyKey, wantsReceipts } = this.#request;
    const nowMs = accounts.writer.atMs;
    const verdicts: Verdict[] = [];
    const receipts: ChargeReceipt[] = [];
    charges.forEach((charge, i) => {
      const account = accounts.account(this.#idOf(i));
      const entry = before[i];
      const { cost } = charge;
      const verdict = toVerdict(account, cost, {
        allowed: entry !== undefined || cost === 0,
        nowMs,
      });
      if (entry === undefined) {
        verdicts.push(verdict);
        return;
      }
      const isSame = entry.amount === -cost && entry.kind === (charge.isFinal ? "use" : kind);
      if (!isSame) throw reused(idempotencyKey);
      verdicts.push({ ...verdict, remaining: Math.max(0, entry.balance) });
      receipts.push(toReceipt(charge, entry));
    });
    return { allowed: true, verdicts, receipts: wantsReceipts ? receipts : [], isRepeated: true };
  }
}

function toReceipt({ counter, key, cost }: Charge, row: EntryRow): ChargeReceipt {
  const { accountId, sequence, kind, details } = toEntry(row);
  const proof: LedgerProof = { accountId, sequence, kind, draws: details?.draws };
  return { counter, key, cost, proof };
}

function toDetails(draws: Draws | undefined, expiresAtMs: number | undefined) {
  if (draws === undefined && expiresAtMs === undefined) return undefined;
  return {
    ...(draws === undefined ? {} : { draws }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

/**
 * Whether a charge was cancelled or has expired: then it did not happen, and may be made again. One that expired and was
 * committed afterwards did happen.
 */
function isUndone({ account_id: accountId, sequence }: EntryRow, find: FindEntry): boolean {
  const [settled, expired] = endingsOf({ accountId, sequence }).map(find);
  return settled === undefined ? expired !== undefined : settled.kind === "cancel";
}

function reused(idempotencyKey: string): SluiceError {
  const requestId = idempotencyKey.slice(idempotencyKey.indexOf(":") + 1);
  return new SluiceError("SLUICE_REQUEST_ID_REUSED", `got ${JSON.stringify(requestId)}`);
}
