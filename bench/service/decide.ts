// What a decision over HTTP costs beside an answer that says nothing.

import type { Bench } from "../bench.js";
import { median, spreadOf } from "../harness.js";
import { type Rates, takeTurns } from "./decision-load.js";

export const decide: Bench<Rates> = {
  id: "service/decide",
  unit: "ratio",
  bound: { is: "at least", bar: 0.7, goal: 1 },
  parts: ["all"],
  runPart: () =>
    takeTurns([
      { side: "decision", decisions: 1 },
      { side: "hello", decisions: 0 },
    ]),
  conclude: ([[checks, hellos]]) => [
    {
      subject: "POST /v1/check by facts, one rule, memory",
      reference: "node:http hello",
      subjectPerSec: median(checks),
      referencePerSec: median(hellos),
      ratio: median(checks) / median(hellos),
      value: median(checks) / median(hellos),
      spread: spreadOf(checks.map((perSec, round) => perSec / hellos[round])),
      note: "nothing refused",
    },
  ],
};
