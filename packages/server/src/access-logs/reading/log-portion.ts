// Part of a log that was read: what passes from the reading of lines to what is done with them, in one thread or between two.

import type { LineBatch } from "./line-batch.js";

/** Malformed lines that are kept. */
export const MALFORMED_KEPT_MAX = 5;

/** A line that could not be read. */
export interface MalformedLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly why: string;
  /** How it begins. */
  readonly text: string;
}

/** One log that was read. */
export interface ReadFile {
  readonly name: string;
  /** In words. */
  readonly format: string;
  /** Blank lines left out. */
  readonly lines: number;
  readonly malformed: number;
  /** Why it ends early: it is damaged, or cut off. Null if it was read to its end. */
  readonly problem: string | null;
}

/** What was read since the portion before. */
export interface LogPortion {
  readonly batches: readonly LineBatch[];
  /** The first of the malformed lines of a log. */
  readonly malformedLines: readonly MalformedLine[];
  /** Bytes that were read, as they are stored. */
  readonly storedBytes: number;
  /** A log that has ended. */
  readonly file: ReadFile | undefined;
}
