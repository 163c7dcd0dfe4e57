// Memory that a replay needs, whatever the size of the log: the most that its process ever had resident, for ten million
// lines of a million callers, which come through a pipe.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { makeTraffic, toLogLine } from "sluice-test-servers";
import { type Bench, type Finding, toPercent } from "../bench.js";
import { effort } from "../effort.js";
import { DIST, type ReplayFigures, THREE_RULES } from "./replay-rules.js";

const LINES = effort({ full: 10_000_000, quick: 200_000 });
const CALLERS = effort({ full: 1_000_000, quick: 20_000 });
const LINES_A_WRITE = 2_000;

interface Footprint {
  readonly residentMbMax: number;
  readonly figures: ReplayFigures;
}

export const replayMemory: Bench<Footprint> = {
  id: "replay/memory",
  unit: "MB",
  bound: { is: "at most", bar: 300, goal: 150 },
  parts: ["combined"],
  runPart: measure,
  conclude: ([{ residentMbMax, figures }]): Finding[] => {
    const { requests, callers } = figures;
    return [
      {
        subject: `replay of ${LINES / 1e6} million lines, ${CALLERS} callers, three rules`,
        value: residentMbMax,
        note: `${callers.total} callers seen; ${toPercent(requests.refused / requests.total)} refused`,
      },
    ];
  },
};

/** The command's own process would say the same; this one reports what it needed. */
const PROGRAM = `
  import { parseRules } from ${JSON.stringify(import.meta.resolve("sluice/rules"))};
  const [{ openSources }, { replayLogs }] = await Promise.all([
    import(${JSON.stringify(new URL("access-logs/reading/log-source.js", DIST).href)}),
    import(${JSON.stringify(new URL("core/log-replay/log-replay.js", DIST).href)}),
  ]);
  const rules = { file: "rules", rules: parseRules(${JSON.stringify(THREE_RULES)}) };
  const sources = await openSources([{ name: "-", stream: process.stdin }], {});
  const { requests, callers, log } = await replayLogs({ sources, rules });
  const figures = { requests, callers, log: { malformed: log.malformed } };
  const residentMbMax = process.resourceUsage().maxRSS / 1_000;
  process.stdout.write(JSON.stringify({ residentMbMax, figures }));
`;

async function measure(): Promise<Footprint> {
  const options = ["--input-type=module", "-e", PROGRAM];
  const child = spawn(process.execPath, options, { stdio: ["pipe", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    text += piece;
  });
  const ended = once(child, "close");
  const shape = { requests: LINES, callers: CALLERS, startMs: Date.UTC(2026, 10, 17) };
  let lines: string[] = [];
  for (const request of makeTraffic(shape)) {
    lines.push(`${toLogLine("combined", request)}\n`);
    if (lines.length < LINES_A_WRITE) continue;
    if (!child.stdin.write(lines.join(""))) await once(child.stdin, "drain");
    lines = [];
  }
  child.stdin.end(lines.join(""));
  await ended;
  const footprint = JSON.parse(text) as Footprint;
  if (footprint.figures.requests.total !== LINES) throw new Error("not all lines were read");
  return footprint;
}
