// How fast a log is replayed: lines of an nginx combined log in a second under three rules, over only reading the same
// file line by line with node:readline, by its events, which are the faster of its two ways. Both sides have the file in
// the system's cache.

import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { parseRules } from "sluice/rules";
import { makeFolder, makeTraffic, removeFolder, toLogLine } from "sluice-test-servers";
import { type Bench, toRatioFinding } from "../bench.js";
import { effort } from "../effort.js";
import { collectGarbage, inTurn } from "../harness.js";
import { loadReplay, THREE_RULES } from "./replay-rules.js";

const LINES = effort({ full: 1_000_000, quick: 100_000 });
const CALLERS = 20_000;
const ROUNDS = effort({ full: 9, quick: 3 });
const WARM_UP_ROUNDS = 2;
const LINES_A_WRITE = 10_000;

/** Lines a second of both sides, one figure for each round. */
interface Speeds {
  readonly replayed: readonly number[];
  readonly read: readonly number[];
  readonly refused: number;
}

export const replaySpeed: Bench<Speeds> = {
  id: "replay/speed",
  unit: "ratio",
  bound: { is: "at least", bar: 0.5, goal: 1 },
  parts: ["combined"],
  runPart: measure,
  conclude: ([{ replayed, read, refused }]) => [
    toRatioFinding(
      {
        subject: `replay of ${LINES / 1e6} million lines of nginx, three rules`,
        reference: "node:readline, which only reads them",
        note: `${CALLERS} callers; ${refused} requests refused`,
      },
      replayed,
      read,
    ),
  ],
};

async function measure(): Promise<Speeds> {
  const folder = makeFolder("bench-replay");
  const path = join(folder, "access.log");
  await writeLog(path);
  const { openSources, replayLogs } = await loadReplay();
  const rules = { file: "rules.yaml", rules: parseRules(THREE_RULES) };
  let refused = 0;
  const replay = async () => {
    const { requests, log } = await replayLogs({ sources: await openSources([path], {}), rules });
    if (requests.total !== LINES || log.malformed > 0) throw new Error("not all lines were read");
    refused = requests.refused;
  };
  const sides = [
    { run: replay, perSec: [] as number[] },
    { run: () => readLines(path), perSec: [] as number[] },
  ] as const;
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    for (const { run, perSec } of inTurn(sides, round)) {
      collectGarbage();
      const beforeMs = performance.now();
      await run();
      if (round >= 0) perSec.push((1_000 * LINES) / (performance.now() - beforeMs));
    }
  }
  removeFolder(folder);
  return { replayed: sides[0].perSec, read: sides[1].perSec, refused };
}

async function writeLog(path: string): Promise<void> {
  const file = await open(path, "w");
  const shape = { requests: LINES, callers: CALLERS, startMs: Date.UTC(2026, 10, 17) };
  let lines: string[] = [];
  for (const request of makeTraffic(shape)) {
    lines.push(`${toLogLine("combined", request)}\n`);
    if (lines.length < LINES_A_WRITE) continue;
    await file.write(lines.join(""));
    lines = [];
  }
  await file.write(lines.join(""));
  await file.close();
}

function readLines(path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let lines = 0;
    const input = createReadStream(path);
    createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })
      .on("line", () => lines++)
      .on("close", () => (lines === LINES ? resolve() : reject(new Error(`${lines} lines`))));
  });
}
