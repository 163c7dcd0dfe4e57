// Which account a charge is for, and what it takes to open it.

import type { QuotaLimit } from "sluice";
import type { AccountName } from "./account-id.js";

/** How a meter is kept, beside its quota. */
export interface MeterOptions {
  /** The units of a period's quota that may be carried over to the next if they are unused. */
  readonly carryOverMax: number;
  /** An event is written when this share of what was granted is in use: 0.8 is 80%. */
  readonly alertShares: readonly number[];
}

/** An account that an operation charges: it is made and opened if it is not there. */
export interface AccountSpec {
  readonly id: string;
  readonly name: AccountName;
  readonly endsAtMs: number;
  readonly limit: QuotaLimit;
  readonly meter: MeterOptions;
}
