// How a request ended: what settles the charges that it holds.

import type { JsonPath } from "../../rule.js";

/** How a request ended. */
export interface RequestEnd {
  /** The status of the response; absent if there was none. */
  readonly status?: number | undefined;
  /** The real cost, where a rule settles by code. */
  readonly cost?: number | undefined;
  /** Bytes of the response's body, where a rule settles by them. */
  readonly bytes?: number | undefined;
  /** A header of the response, by lower-case name, where a rule settles by one. */
  readonly header?: ((name: string) => string | undefined) | undefined;
  /** What was read of the response's body, where a rule settles by its JSON. */
  readonly body?: BodyReading | undefined;
  /** When it ended, by the clock of the policy; default: what that clock says. Quotas go by the calendar regardless. */
  readonly nowMs?: number | undefined;
}

/** Why the body of a response does not say what the request cost. */
export type UnreadableBody =
  /** It is neither JSON nor a stream of events, or not in UTF-8. */
  | "type"
  /** It is compressed. */
  | "encoding"
  /** It is not valid JSON. */
  | "malformed"
  /** It is nested too deeply to be read. */
  | "too-deep";

/** What was read of the body of a response while it passed through. */
export interface BodyReading {
  /** Whether it was read to its end; false if its client or its server broke off before. */
  readonly isComplete: boolean;
  /** Why it does not say what the request cost; undefined if it can. */
  readonly problem: UnreadableBody | undefined;
  /** The last number that was seen at a path; undefined if there was none. */
  numberAt(path: JsonPath): number | undefined;
}
