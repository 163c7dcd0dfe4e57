// What a decision over HTTP costs, over a server that answers every request with the same body.

import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { type Rates, takeTurns } from "./decision-load.js";

export const decide: Bench<Rates> = {
  id: "service/decide",
  unit: "ratio",
  bound: { is: "at least", bar: 0.7, goal: 1 },
  parts: ["all"],
  runPart: () =>
    takeTurns([
      { side: "decision", decisions: 1, by: "limit" },
      { side: "decision", decisions: 1, by: "facts" },
      { side: "hello", decisions: 0 },
    ]),
  conclude: ([[byLimit, byFacts, hellos]]) => [
    toFinding("by a limit and key", byLimit, hellos),
    { ...toFinding("by facts, one rule, memory", byFacts, hellos), isJudged: false },
  ],
};

function toFinding(how: string, checks: readonly number[], hellos: readonly number[]): Finding {
  const names = {
    subject: `one check, ${how}`,
    reference: "node:http hello",
    note: "nothing refused",
  };
  return toRatioFinding(names, checks, hellos);
}
