// What a batch gains: decisions in calls of a hundred, over decisions in calls of one.

import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { type Rates, takeTurns } from "./decision-load.js";

const BATCH = 100;

export const batch: Bench<Rates> = {
  id: "service/batch",
  unit: "ratio",
  bound: { is: "at least", bar: 15, goal: 50 },
  parts: ["all"],
  runPart: () =>
    takeTurns([
      { side: "decision", decisions: BATCH, by: "limit" },
      { side: "decision", decisions: 1, by: "limit" },
      { side: "decision", decisions: BATCH, by: "facts" },
      { side: "decision", decisions: 1, by: "facts" },
    ]),
  conclude: ([[byLimit, oneByLimit, byFacts, oneByFacts]]) => [
    toFinding("by a limit and key", byLimit, oneByLimit),
    { ...toFinding("by facts, one rule, memory", byFacts, oneByFacts), isJudged: false },
  ],
};

function toFinding(how: string, calls: readonly number[], checks: readonly number[]): Finding {
  const decisions = calls.map((perSec) => perSec * BATCH);
  const names = {
    subject: `${BATCH} checks in a call, ${how}`,
    reference: "one in a call",
    note: "decisions/s; nothing refused",
  };
  return toRatioFinding(names, decisions, checks);
}
