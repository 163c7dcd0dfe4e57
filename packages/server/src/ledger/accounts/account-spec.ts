// Which account a charge is for, and what it takes to open it.

import type { DurableOptions, QuotaLimit } from "sluice";
import type { AccountName } from "./account-id.js";

/** An account that an operation charges: it is made and opened if it is not there. */
export interface AccountSpec {
  readonly id: string;
  readonly name: AccountName;
  readonly endsAtMs: number;
  readonly limit: QuotaLimit;
  /** What is done besides counting. */
  readonly durable: DurableOptions;
}
