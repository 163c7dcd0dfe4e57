// The benchmarks of ledger, in the order in which they run.

import type { Bench } from "../bench.js";
import { ledgerGroup, ledgerHot, ledgerSqlite } from "../ledger/group-commit.js";
import { ledgerLatency } from "../ledger/latency.js";
import { ledgerLeased } from "../ledger/leased.js";
import { ledgerVerify } from "../ledger/verify.js";

export const benches: readonly Bench[] = [
  ledgerGroup,
  ledgerHot,
  ledgerSqlite,
  ledgerLeased,
  ledgerLatency,
  ledgerVerify,
];
