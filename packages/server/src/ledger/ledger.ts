// The ledger as operators use it: top-ups and adjustments, each once for its idempotency key. Requests are charged
// through its store.

import type { Clock, Counter } from "sluice";
import { ServerError, show } from "../base/errors.js";
import type { Database } from "../database/database.js";
import { toSubject } from "./accounts/account-id.js";
import { neighboursOf, toSpec } from "./accounts/account-spec.js";
import { LedgerStore, type LedgerStoreOptions } from "./ledger-store.js";
import { type Corrected, CorrectOperation } from "./operations/operator.js";
import { statements } from "./sql/statements.js";

/**
 * Finds the counter of a rule for a key: the quota that holds for it today.
 *
 * @returns Undefined if the rule is not there, is not durable, or has no limit for that key.
 */
export type FindCounter = (meter: string, key: string) => Counter | undefined;

/** Options of {@link Ledger}. */
export interface LedgerOptions extends LedgerStoreOptions {
  /** Opens the account of a subject that has used nothing in this period. Default: such a subject is an error. */
  readonly findCounter?: FindCounter;
}

/** What an operator changes. */
export interface CorrectionRequest {
  /** The id of the rule. */
  readonly meter: string;
  /** The key as the rule counts it: `tenant:acme`. */
  readonly key: string;
  /** Whole units: above 0 for a grant, other than 0 for an adjustment. */
  readonly amount: number;
  readonly actor: string;
  readonly reason: string;
  /** The same correction, sent twice, is made once. */
  readonly idempotencyKey: string;
}

/** A top-up. */
export interface GrantRequest extends CorrectionRequest {
  /** When what is left of it ends. Default: with the period. */
  readonly expiresAtMs?: number | undefined;
}

/** A ledger in a database that has the schema of this version. */
export class Ledger {
  readonly store: LedgerStore;
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #findCounter: FindCounter;

  constructor(database: Database, options: LedgerOptions) {
    this.#database = database;
    this.#clock = options.clock;
    this.#findCounter = options.findCounter ?? (() => undefined);
    this.store = new LedgerStore(database, options);
  }

  /**
   * Grants units on top of the quota. They are used before what expires later.
   *
   * @throws ServerError `SLUICE_REQUEST_INVALID` for an amount or an expiry that can't be, `SLUICE_NOT_FOUND` if there is
   *   no account and no rule to open one, `SLUICE_KEY_REUSED` if the idempotency key was used for something else.
   */
  async grant(request: GrantRequest): Promise<Corrected> {
    const { amount, expiresAtMs } = request;
    if (!Number.isSafeInteger(amount) || amount <= 0) {
      throw invalid(`a grant must be a whole number above 0, got ${show(amount)}`);
    }
    const canExpire = Number.isSafeInteger(expiresAtMs) && Number(expiresAtMs) > this.#clock.now();
    if (expiresAtMs !== undefined && !canExpire) {
      throw invalid(`a grant must expire in the future, got ${show(expiresAtMs)}`);
    }
    return this.#correct("grant", request);
  }

  /**
   * Adds to what is left, or takes from it, below zero too.
   *
   * @throws As {@link grant}.
   */
  async adjust(request: CorrectionRequest): Promise<Corrected> {
    const { amount } = request;
    if (!Number.isSafeInteger(amount) || amount === 0) {
      throw invalid(`an adjustment must be a whole number other than 0, got ${show(amount)}`);
    }
    return this.#correct("adjust", request);
  }

  /** Waits for what is under way. The database is its owner's to close. */
  close(): Promise<void> {
    return this.store.close();
  }

  async #correct(kind: "grant" | "adjust", request: GrantRequest): Promise<Corrected> {
    const { meter, key, idempotencyKey } = request;
    const operatorKey = `operator:${toSubject(idempotencyKey)}`;
    const account = await this.#find(meter, key);
    if (account === undefined) {
      const seen = `no account of "${meter}" for "${key}": no durable rule has that id and counts that key`;
      throw new ServerError("SLUICE_NOT_FOUND", seen);
    }
    const { amount, expiresAtMs, actor, reason } = request;
    const correction = { kind, amount, expiresAtMs, actor, reason };
    const madeInId = await this.#madeIn(request, operatorKey);
    const operator = { ...correction, idempotencyKey: operatorKey, ...account, madeInId };
    const corrected = await this.store.run(new CorrectOperation(operator));
    if (corrected === "ended") return this.#correct(kind, request);
    if (corrected === "too large") throw invalid(TOO_LARGE);
    if (corrected !== "conflict") return corrected;
    throw new ServerError("SLUICE_KEY_REUSED", `got ${show(idempotencyKey)}`);
  }

  /** The account in which the same correction was made, in whatever period. */
  async #madeIn({ meter, key }: GrantRequest, operatorKey: string): Promise<string | undefined> {
    const values = [toSubject(key), meter, 0, operatorKey];
    const [row] = await this.#database.query<{ id: string }>(statements.findCorrection, values);
    return row?.id;
  }

  /** The account of this period: by the quota that holds today, or else as it was opened. */
  async #find(meter: string, key: string) {
    const nowMs = Math.floor(this.#clock.now());
    const counter = this.#findCounter(meter, key);
    if (counter?.limit.algorithm === "quota") {
      const spec = toSpec({ counter, key }, nowMs);
      const { contested } = neighboursOf({ counter, key }, nowMs);
      return { accountId: spec.id, spec, contested };
    }
    const values = [toSubject(key), meter, 0, nowMs];
    const [row] = await this.#database.query<{ id: string }>(statements.currentAccount, values);
    return row === undefined ? undefined : { accountId: row.id };
  }
}

const TOO_LARGE = `it would take the account beyond ${Number.MAX_SAFE_INTEGER} units`;

function invalid(seen: string): ServerError {
  return new ServerError("SLUICE_REQUEST_INVALID", seen);
}
