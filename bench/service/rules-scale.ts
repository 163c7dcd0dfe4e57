// Whether the gateway stays fast and small with many rules: requests for each second of its processor time with
// 10,000 rules over 10, and the memory of its process for each rule, as the system counts it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder, removeFolder } from "sluice-test-servers";
import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { inTurn, median, summarise } from "../harness.js";
import { startServed } from "../workers/service.js";
import { askProxy, type RunningProxy, startProxies } from "./proxies-load.js";
import { FEW_RULES, MANY_RULES, toRulesFile, toScript } from "./rules-traffic.js";

const ROUNDS = effort({ full: 9, quick: 1 });
/** Turns of each gateway in a round: both have one before either has its next, since machines drift. */
const TURNS = effort({ full: 5, quick: 1 });
/** Seconds of the gateway's processor time in a turn. */
const TURN_SECONDS = 0.5;
const WARM_UP_SECONDS = effort({ full: 2.5, quick: 0.5 });
const WEIGHINGS = effort({ full: 3, quick: 1 });
/** The indexes of the two gateways. */
const [MANY, FEW] = [0, 1] as const;

/** Requests per second of processor time with many rules and with few, one figure for each round. */
type Rates = readonly [many: readonly number[], few: readonly number[]];

export const rulesScale: Bench<Rates> = {
  id: "service/rules-scale",
  unit: "ratio",
  bound: { is: "at least", bar: 0.85, goal: 0.95 },
  parts: ["all"],
  runPart: measureRates,
  conclude: ([[many, few]]) => [
    toRatioFinding(
      {
        subject: `gateway, ${MANY_RULES.toLocaleString("en")} rules of which three match`,
        reference: `${FEW_RULES} rules of which three match`,
        note: "nothing refused",
      },
      many,
      few,
    ),
  ],
};

export const rulesBytes: Bench<readonly number[]> = {
  id: "service/rules-bytes",
  unit: "bytes",
  bound: { is: "at most", bar: 8_000, goal: 4_000 },
  parts: ["all"],
  runPart: measureBytes,
  conclude: ([bytes]) => [
    {
      subject: `gateway, ${MANY_RULES.toLocaleString("en")} rules: memory of the process for each`,
      ...summarise(bytes),
      note: `beyond that of one with ${FEW_RULES}, after requests under all of them`,
    },
  ],
};

async function measureRates(): Promise<Rates> {
  const rates: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    await withGateways(async (ask) => {
      for (const i of inTurn([MANY, FEW], round)) await ask(i, WARM_UP_SECONDS);
      const turns: [number[], number[]] = [[], []];
      for (let turn = 0; turn < TURNS; turn++) {
        for (const i of inTurn([MANY, FEW], round + turn))
          turns[i].push(await ask(i, TURN_SECONDS));
      }
      for (const i of [MANY, FEW]) rates[i].push(median(turns[i]));
    });
  }
  return rates;
}

async function measureBytes(): Promise<readonly number[]> {
  const bytes: number[] = [];
  for (let round = 0; round < WEIGHINGS; round++) {
    await withGateways(async (ask, gateways) => {
      for (const i of inTurn([MANY, FEW], round)) await ask(i, WARM_UP_SECONDS);
      const more = gateways[MANY].residentBytes() - gateways[FEW].residentBytes();
      bytes.push(Math.round(more / (MANY_RULES - FEW_RULES)));
    });
  }
  return bytes;
}

type Ask = (gateway: number, cpuSeconds: number) => Promise<number>;

/** Runs `use` with a gateway with many rules and one with few. Each round has processes of its own. */
async function withGateways(
  use: (ask: Ask, gateways: readonly RunningProxy[]) => Promise<void>,
): Promise<void> {
  const folder = makeFolder("bench-rules-scale");
  const { upstream, stop } = await startProxies([]);
  const gateways: RunningProxy[] = [];
  try {
    const scripts: string[] = [];
    for (const rules of [MANY_RULES, FEW_RULES]) {
      gateways.push(await start(rules, upstream.port));
      const script = join(folder, `${rules}.lua`);
      writeFileSync(script, toScript(rules));
      scripts.push(script);
    }
    await use((i, seconds) => askProxy(gateways[i], seconds, { script: scripts[i] }), gateways);
  } finally {
    stop();
    for (const gateway of gateways) gateway.stop();
    removeFolder(folder);
  }
}

function start(rules: number, upstreamPort: number): Promise<RunningProxy> {
  const one = { workers: 1, listener: "gateway", limit: 0 } as const;
  return startServed({ ...one, upstreamPort, rules: toRulesFile(rules) });
}
