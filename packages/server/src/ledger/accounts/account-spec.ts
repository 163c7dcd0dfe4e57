// Which account a charge is for, and what it takes to open it.

import type { DurableOptions, QuotaLimit } from "sluice";
import type { AccountName } from "./account-id.js";

/** An account that an operation charges: it is made and opened if it is not there. */
export interface AccountSpec {
  readonly id: string;
  readonly name: AccountName;
  readonly endsAtMs: number;
  readonly limit: QuotaLimit;
  /** Whether an account that is open keeps its quota: the limit may be that of another tier. Default: it takes the limit's. */
  readonly keepsQuota?: boolean;
  /** What is done besides counting. */
  readonly durable: DurableOptions;
}
