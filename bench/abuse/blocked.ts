// Refusals of the gateway for a caller that an escalation has blocked, over refusals of a caller that is over its limit.

import { type Bench, toRatioFinding } from "../bench.js";
import { type Rates, takeTurns } from "../service/gateway.js";

export const blocked: Bench<Rates> = {
  id: "abuse/blocked",
  unit: "ratio",
  bound: { is: "at least", bar: 1, goal: 1.2 },
  parts: ["all"],
  runPart: () => takeTurns(["blocked", "refusing"]),
  conclude: ([[ours, theirs]]) => [
    toRatioFinding(
      { subject: "refusals of an escalated caller", reference: "plain refusals" },
      ours,
      theirs,
    ),
  ],
};
