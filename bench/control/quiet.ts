// What changes of the control plane cost decisions: decisions a second of a control node that publishes rules once a
// second, over the same node without changes. Many short rounds in turns: one publish costs little beside what a machine
// does in the seconds between two long ones.

import { rmSync } from "node:fs";
import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { collectGarbage } from "../harness.js";
import { newFolder, publish, rulesText, startControl } from "./nodes.js";

const ROUNDS = effort({ full: 60, quick: 2 });
/** One publish at the beginning of a round: one a second. */
const ROUND_MS = effort({ full: 1_000, quick: 300 });
const RULES = 100;
/** Decisions before others have their turn. */
const BATCH = 500;

interface Rates {
  readonly changing: readonly number[];
  readonly quiet: readonly number[];
}

export const controlQuiet: Bench<Rates> = {
  id: "control/quiet",
  unit: "ratio",
  bound: { is: "at least", bar: 0.95, goal: 0.99 },
  parts: ["all"],
  runPart: measure,
  conclude: ([{ changing, quiet }]) => [
    toRatioFinding({ subject: "one publish a second", reference: "no changes" }, changing, quiet),
  ],
};

async function measure(): Promise<Rates> {
  const folder = newFolder();
  const control = await startControl(folder, rulesText("first", RULES));
  const rates = { changing: [] as number[], quiet: [] as number[] };
  let published = 0;
  const run = async (isChanging: boolean): Promise<number> => {
    const text = rulesText(`first-${++published}`, RULES);
    // Each pays for its own garbage.
    collectGarbage("minor");
    const startMs = performance.now();
    const publishing = isChanging ? publish(control, text) : undefined;
    let count = 0;
    while (performance.now() - startMs < ROUND_MS) {
      for (let n = 0; n < BATCH; n++) {
        const path = `/v1/resource-${count % RULES}/a`;
        await control.core.policy.admit({ method: "GET", path, ip: `10.0.0.${count % 250}` });
        count++;
      }
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    const perSecond = (count * 1_000) / (performance.now() - startMs);
    await publishing;
    return perSecond;
  };
  try {
    await run(true);
    for (let round = 0; round < ROUNDS; round++) {
      const isFirst = round % 2 === 0;
      const [one, other] = [await run(isFirst), await run(!isFirst)];
      rates.changing.push(isFirst ? one : other);
      rates.quiet.push(isFirst ? other : one);
    }
    return rates;
  } finally {
    await control.close();
    rmSync(folder, { recursive: true });
  }
}
