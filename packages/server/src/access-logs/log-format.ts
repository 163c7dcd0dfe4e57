// What a format of access logs is: how its lines are read, and which facts they have. Lines are bytes, which are read
// while the processor still has them in its cache, and never again.

import type { FieldMap } from "./formats/field-map.js";
import type { EntryNeeds, LogEntry } from "./log-entry.js";

/** The formats by the names that the command knows. */
export const FORMAT_NAMES = ["combined", "common", "caddy", "envoy", "alb", "json"] as const;

/** A format of access logs. */
export type FormatName = (typeof FORMAT_NAMES)[number];

/** What lines of a format can say. */
export interface FormatFacts {
  readonly user: boolean;
  readonly host: boolean;
  readonly tenant: boolean;
  readonly tier: boolean;
  readonly apiKey: boolean;
  readonly status: boolean;
  readonly bodyBytes: boolean;
  readonly forwardedFor: boolean;
  /** By lower-case name; "any" if lines have all headers. */
  readonly headers: ReadonlySet<string> | "any";
  /** By name; "any" if nothing is known to be missing. */
  readonly attributes: ReadonlySet<string> | "any";
}

/** A format. */
export interface LogFormat {
  readonly name: FormatName;
  /** In words: `nginx combined`. */
  readonly title: string;
  readonly facts: FormatFacts;
  /** Of a format that is JSON. */
  readonly fields?: FieldMap;
  /** A reader of its lines. It remembers the line before, so that each file has its own. */
  createReader(needs: EntryNeeds): LineReader;
}

/** Reads lines of one format. A line is `bytes` from `from` to before `to`, without its end. */
export interface LineReader {
  /**
   * Fills in an entry that no other reader fills in. Returns false if the line is malformed, for the reason in
   * `problem`. The bytes are not read again afterwards.
   */
  read(bytes: Buffer, from: number, to: number, entry: LogEntry): boolean;
  /** Why the last line is malformed. */
  readonly problem: string;
}
