// Which nodes an answer covers, and which are missing from it, so that a page never shows a part as if it were all.

import type { FleetAnswers } from "../../control/feed/follower-questions.js";

/** Names of nodes that are listed; further ones are counted. */
const NAMED_MAX = 5;

/** Which nodes an answer covers. */
export interface Coverage {
  /** This node and its followers that are connected. */
  readonly inAll: number;
  /** Of them, those whose part is in the answer. */
  readonly covered: number;
  /** Names of some that were asked and have not answered in time. */
  readonly silent: readonly string[];
  /** Nodes of other control nodes of the same database, which are asked there. */
  readonly elsewhere: number;
}

/** What an answer covers. */
export function toCoverage(
  { connected, answers, silent }: FleetAnswers,
  elsewhere: number,
  leftOut = 0,
): Coverage {
  return {
    inAll: connected + 1,
    covered: answers.size + 1 - leftOut,
    silent: silent.slice(0, NAMED_MAX),
    elsewhere,
  };
}
