// What it costs the gateway to read a response while it passes: streams of 64 KB for each second of its processor time,
// under a rule that settles by their last event, over the same under a rule that does not.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, removeFolder } from "sluice-test-servers";
import { type Bench, type Finding, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn } from "../harness.js";
import { askProxy, startProxies } from "./proxies-load.js";

const ROUNDS = effort({ full: 5, quick: 1 });
/** Seconds of the gateway's processor time in a round. */
const ROUND_SECONDS = effort({ full: 1.5, quick: 0.5 });
const WARM_UP_SECONDS = effort({ full: 1, quick: 0.5 });
/** The two gateways. */
const NAMES = ["settling", "gateway"] as const;

/** Streams per second of processor time of both gateways, one figure for each round. */
type Rates = readonly [settling: readonly number[], plain: readonly number[]];

export const settle: Bench<Rates> = {
  id: "service/settle",
  unit: "ratio",
  parts: ["/stream", "/whole-stream"],
  runPart: measure,
  conclude: ([chunks, whole]) => [
    toFinding("each event a chunk", chunks),
    { ...toFinding("in one piece", whole), isJudged: false },
  ],
};

function toFinding(how: string, [settling, plain]: Rates): Finding {
  return toRatioFinding(
    {
      subject: `gateway, 64 KB of events, ${how}, settled by the last`,
      reference: "the same, not settled",
    },
    settling,
    plain,
  );
}

async function measure(path: string): Promise<Rates> {
  const folder = makeFolder("bench-settle");
  const script = join(folder, "path.lua");
  writeFileSync(script, `wrk.path = "${path}"\n`);
  const rates: [number[], number[]] = [[], []];
  try {
    for (let round = 0; round < ROUNDS; round++) await measureRound(round, script, rates);
  } finally {
    removeFolder(folder);
  }
  return rates;
}

/** Each round has processes of its own, as those of `http/node` have, and for the same reason. */
async function measureRound(
  round: number,
  script: string,
  rates: readonly [number[], number[]],
): Promise<void> {
  const { proxies, stop } = await startProxies(NAMES);
  const turns = inTurn([...NAMES.keys()], round);
  try {
    for (const i of turns) await askProxy(proxies[i], WARM_UP_SECONDS, { script });
    for (const i of turns) rates[i].push(await askProxy(proxies[i], ROUND_SECONDS, { script }));
  } finally {
    stop();
  }
}
