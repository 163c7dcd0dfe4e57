// Verifies the whole ledger: that balances are the sums of their entries, that the chains of hashes are whole, that no
// charge went past its quota, and that whatever was settled was open. Reads all entries, in constant memory.

import { Findings, type LedgerReport } from "./report.js";
import { type PageSizes, RangeVerifier, type VerifierReader } from "./verify-range.js";

/** Options of {@link verifyLedger}. */
export interface VerifyOptions {
  /** How many problems the report lists; all are counted. Default 100. */
  readonly listedMax?: number;
  /** How much is read by one statement. */
  readonly pages?: PageSizes;
}

/**
 * Verifies all accounts in this thread. Writers may go on meanwhile.
 *
 * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` or `SLUICE_DATABASE_FAILED`.
 */
export async function verifyLedger(
  reader: VerifierReader,
  { listedMax, pages }: VerifyOptions = {},
): Promise<LedgerReport> {
  const findings = new Findings(listedMax);
  await new RangeVerifier(reader, findings, pages).run({ after: "", upTo: undefined });
  return findings.toReport();
}
