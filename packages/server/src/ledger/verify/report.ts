// What verification found: every problem is counted, and the first of them are listed.

/** What is checked. */
export const CHECK_NAMES = [
  "account",
  "sequence",
  "chain",
  "balance",
  "kind",
  "amount",
  "quota",
  "settlement",
  "hold",
  "duplicate",
] as const;

/** What is checked. */
export type CheckName = (typeof CHECK_NAMES)[number];

/** One thing that is wrong. */
export interface LedgerProblem {
  readonly check: CheckName;
  readonly accountId: string;
  /** The meter of the account; undefined if there is no such account. */
  readonly meter: string | undefined;
  readonly subject: string | undefined;
  /** The entry that it is about; undefined if it is about the account. */
  readonly sequence: number | undefined;
  /** In words, with the entry or account as its subject. */
  readonly problem: string;
}

/** What was read, and what is wrong. */
export interface LedgerReport {
  readonly accounts: number;
  readonly entries: number;
  readonly problemCount: number;
  /** The first of them. */
  readonly problems: readonly LedgerProblem[];
}

/** How many problems are listed, unless it is said. */
export const PROBLEMS_LISTED = 100;

/** Counts what is read and what is wrong. */
export class Findings {
  accounts = 0;
  entries = 0;
  problemCount = 0;
  readonly #listedMax: number;
  readonly #problems: LedgerProblem[] = [];

  constructor(listedMax: number = PROBLEMS_LISTED) {
    this.#listedMax = listedMax;
  }

  add(problem: LedgerProblem): void {
    this.problemCount++;
    if (this.#problems.length < this.#listedMax) this.#problems.push(problem);
  }

  /** Adds what another part of the ledger has. */
  addReport(report: LedgerReport): void {
    this.accounts += report.accounts;
    this.entries += report.entries;
    for (const problem of report.problems) this.add(problem);
    this.problemCount += report.problemCount - report.problems.length;
  }

  toReport(): LedgerReport {
    const { accounts, entries, problemCount } = this;
    return { accounts, entries, problemCount, problems: [...this.#problems] };
  }
}
