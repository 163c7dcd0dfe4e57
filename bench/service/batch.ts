// What a batch gains: decisions in calls of a hundred beside calls of one.

import type { Bench } from "../bench.js";
import { median, spreadOf } from "../harness.js";
import { type Rates, takeTurns } from "./decision-load.js";

const BATCH = 100;

export const batch: Bench<Rates> = {
  id: "service/batch",
  unit: "ratio",
  bound: { is: "at least", bar: 15, goal: 50 },
  parts: ["all"],
  runPart: () =>
    takeTurns([
      { side: "decision", decisions: BATCH },
      { side: "decision", decisions: 1 },
    ]),
  conclude: ([[calls, checks]]) => {
    const decisions = calls.map((perSec) => perSec * BATCH);
    return [
      {
        subject: `POST /v1/check, ${BATCH} requests by facts in a call`,
        reference: "one request in a call",
        subjectPerSec: median(decisions),
        referencePerSec: median(checks),
        ratio: median(decisions) / median(checks),
        value: median(decisions) / median(checks),
        spread: spreadOf(decisions.map((perSec, round) => perSec / checks[round])),
        note: "decisions/s; nothing refused",
      },
    ];
  },
};
