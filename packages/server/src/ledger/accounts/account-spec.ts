// Which account a charge is for, and what it takes to open it.

import {
  type Charge,
  type Counter,
  type DurableOptions,
  type QuotaLimit,
  quotaPeriod,
  SluiceError,
} from "sluice";
import { type AccountName, accountIdOf, toSubject } from "./account-id.js";

/** An account that an operation charges: it is made and opened if it is not there. */
export interface AccountSpec {
  readonly id: string;
  readonly name: AccountName;
  readonly endsAtMs: number;
  readonly limit: QuotaLimit;
  /** What is done besides counting. */
  readonly durable: DurableOptions;
}

/** How long into the next period a request of the previous one is still recognised by its id. */
const EARLIER_MS = 86_400_000;
/** By how much clocks of nodes may differ, and a request may wait, at the end of a period. */
const BOUNDARY_MS = 60_000;

const DEFAULTS: DurableOptions = { carryOverMax: 0, alertShares: [] };

/** The account of a charge, in the period that holds `nowMs`. */
export function toSpec(
  { counter, key }: Pick<Charge, "counter" | "key">,
  nowMs: number,
): AccountSpec {
  const limit = toQuota(counter);
  const { startMs, endMs } = quotaPeriod(limit, nowMs);
  const { scope: meter, part, durable = DEFAULTS } = counter;
  const name = { meter, part, subject: toSubject(key), startsAtMs: startMs };
  return { id: accountIdOf(name), name, endsAtMs: endMs, limit, durable };
}

/** Accounts of other periods in which a request may have been charged under the same id. */
export interface Neighbours {
  /** In which it is looked for. */
  readonly ids: readonly string[];
  /**
   * Those in which another node may charge it at the same time, because the period has just ended or is about to: they
   * have to be locked.
   */
  readonly contested: readonly AccountSpec[];
}

/** The accounts of the periods before and after the one that holds `nowMs`, where that makes a difference. */
export function neighboursOf(charge: Pick<Charge, "counter" | "key">, nowMs: number): Neighbours {
  const { startMs, endMs } = quotaPeriod(toQuota(charge.counter), nowMs);
  const sinceMs = nowMs - startMs;
  const earlier = sinceMs < EARLIER_MS ? [toSpec(charge, startMs - 1)] : [];
  const later = endMs - nowMs <= BOUNDARY_MS ? [toSpec(charge, endMs)] : [];
  const ids = [...earlier, ...later].map(({ id }) => id);
  return { ids, contested: sinceMs < BOUNDARY_MS ? [...earlier, ...later] : later };
}

function toQuota({ scope, limit }: Counter): QuotaLimit {
  if (limit.algorithm === "quota") return limit;
  const seen = `"${scope}" has a limit of kind ${limit.algorithm}; a ledger holds quotas only`;
  throw new SluiceError("SLUICE_LIMIT_INVALID", seen);
}
