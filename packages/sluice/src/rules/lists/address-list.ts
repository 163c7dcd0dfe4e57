// Lists of addresses from files, one address or range on each line, with comments. Every bad line is reported with its
// number, and a list with a bad line is not used at all: half a list would let callers pass that should not.

import { SluiceError } from "../../base/errors.js";
import { ITEMS_A_STEP, runInSlices, runSteps, type Steps } from "../../base/steps.js";
import { CollectedRanges, type RangesByFamily } from "../identity-keys/cidr.js";

/** The text of a list, and the name that problems give it. */
export interface ListFile {
  /** For problems: `deny.txt:14`. */
  readonly file: string;
  readonly text: string;
}

/** Addresses and ranges of both families. Made by {@link readAddressList}. */
export interface AddressList {
  /** How many lines had an address or a range. */
  readonly entries: number;
  readonly ranges: RangesByFamily;
}

/** More would take some seconds to read. */
const ENTRIES_MAX = 1_000_000;
/** Problems that are listed; the rest are only counted. */
const PROBLEMS_MAX = 20;
/** Longer than any range and comment that a person writes. */
const LINE_LENGTH_MAX = 1_000;
const SITE = { name: "list", code: "SLUICE_LIST_INVALID" } as const;

/** A list without entries. */
export const EMPTY_LIST: AddressList = {
  entries: 0,
  ranges: runSteps(new CollectedRanges().index()),
};

/**
 * Reads lists, several as one. A line holds an address or a range (`203.0.113.7`, `203.0.113.0/24`, `2001:db8::/32`); what
 * follows a `#` or `;` is a comment.
 *
 * @throws SluiceError `SLUICE_LIST_INVALID` that names every bad line, up to 20.
 */
export function readAddressList(files: readonly ListFile[]): AddressList {
  return runSteps(readInSteps(files));
}

/** The same in slices of a few milliseconds, between which requests are decided. */
export function readAddressListInSlices(files: readonly ListFile[]): Promise<AddressList> {
  return runInSlices(readInSteps(files));
}

function* readInSteps(files: readonly ListFile[]): Steps<AddressList> {
  const ranges = new CollectedRanges();
  const problems = new ListProblems();
  let entries = 0;
  for (const { file, text } of files) {
    let line = 0;
    for (let from = 0; from <= text.length; ) {
      line++;
      if (line % ITEMS_A_STEP === 0) yield;
      const found = text.indexOf("\n", from);
      const end = found < 0 ? text.length : found;
      const entry = toEntry(text, from, end);
      from = end + 1;
      if (entry === "") continue;
      entries++;
      if (entries > ENTRIES_MAX) {
        throw new SluiceError(SITE.code, `${file}:${line}: at most ${ENTRIES_MAX} entries`);
      }
      const problem = addEntry(ranges, entry);
      if (problem !== undefined) problems.add(`${file}:${line}: ${problem}`);
    }
  }
  problems.throwIfAny();
  return { entries, ranges: yield* ranges.index() };
}

/** A line without its comment. A file may begin with a byte order mark, and its lines may end in CRLF. */
function toEntry(text: string, from: number, end: number): string {
  const line = text.slice(from, Math.min(end, from + LINE_LENGTH_MAX));
  const comment = line.search(/[#;]/);
  // What is cut off a line that is too long may be more than spaces: it is refused as a whole.
  if (comment < 0 && end - from > LINE_LENGTH_MAX) return `${line}…`;
  // `trim` takes byte order marks for spaces.
  return (comment < 0 ? line : line.slice(0, comment)).trim();
}

/** Adds an entry. Returns what is wrong with it; undefined if nothing is. */
function addEntry(ranges: CollectedRanges, entry: string): string | undefined {
  try {
    ranges.add(entry, SITE);
    return undefined;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    const prefix = `${SITE.name}: `;
    return error.message.slice(error.message.indexOf(prefix) + prefix.length);
  }
}

/** What is wrong with a list: the first problems, and how many more there are. */
class ListProblems {
  readonly #shown: string[] = [];
  #more = 0;

  add(problem: string): void {
    if (this.#shown.length < PROBLEMS_MAX) this.#shown.push(problem);
    else this.#more++;
  }

  throwIfAny(): void {
    if (this.#shown.length === 0) return;
    const lines = this.#more === 0 ? this.#shown : [...this.#shown, `and ${this.#more} more`];
    throw new SluiceError(SITE.code, lines.length === 1 ? lines[0] : `\n  ${lines.join("\n  ")}`);
  }
}
