// The demonstration that `npm run demo` runs: the same traffic under every algorithm, each with a chart of what was
// admitted, what was refused and, where it differs, when it left. A ManualClock provides the time, so it takes an
// instant and draws the same charts each time.

import {
  concurrency,
  fixedWindow,
  type Limit,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "sluice";
import { bars, coloured, type Ink, plain, ruler } from "./demo/chart.js";
import { acquireAll, checkAll, type Outcome, type Span } from "./demo/scene.js";
import { countBySlice, offered } from "./demo/traffic.js";

const wantsColour = process.stdout.isTTY === true && !process.env.NO_COLOR;
const ink: Ink = wantsColour ? coloured : plain;

// Windows of four seconds start where columns 0, 16, 32 and 48 do.
const seconds: Span = { startMs: Date.UTC(2026, 0, 1), sliceMs: 250 };
// A column for each day from 30 December in Paris, so that 31 January lies inside the burst.
const days: Span = { startMs: Date.UTC(2025, 11, 29, 23), sliceMs: 86_400_000 };

/** What is said and drawn of one algorithm. */
interface Scene {
  readonly title: string;
  readonly code: string;
  readonly outcome: Outcome;
  /** A line above the bars that shows where windows begin. */
  readonly windows?: string;
  /** A row of its own: departures, permits held. */
  readonly row?: string;
  readonly remark: string;
  readonly reading: readonly string[];
}

const bucket = { capacity: 10, refillPerSecond: 5 };
const queue = { ratePerSecond: 5, queueSize: 9 };
const meter = { ...queue, mode: "meter" } as const;
const window = { limit: 20, windowMs: 4_000 };
const windows = secondsRuler("windows");

const scenes: readonly Scene[] = [
  {
    title: "Token bucket",
    code: call("tokenBucket", bucket),
    ...rate(tokenBucket(bucket)),
    reading: [
      "A burst of up to 10 passes immediately; then requests pass as fast as tokens",
      "come back. No 4 s ever admit more than 10 + 5 × 4 = 30.",
    ],
  },
  shaper(),
  {
    title: "Leaky bucket as a meter",
    code: call("leakyBucket", meter),
    ...rate(leakyBucket(meter)),
    reading: ["Admits the same requests as the shaper, and delays none of them."],
  },
  {
    title: "Fixed window",
    code: call("fixedWindow", window),
    windows,
    ...rate(fixedWindow(window)),
    reading: [
      "The burst lies across a border: 20 pass before it and 20 after it, twice the",
      "limit within 2 s. That is the price of keeping one small counter.",
    ],
  },
  {
    title: "Sliding window counter",
    code: call("slidingWindowCounter", window),
    windows,
    ...rate(slidingWindowCounter(window)),
    reading: [
      "The window before still counts, less and less as it slides out: no double",
      "burst at the border, for two counters. An estimate: it let 4 too many pass.",
    ],
  },
  {
    title: "Sliding window log",
    code: call("slidingWindowLog", window),
    ...rate(slidingWindowLog(window)),
    reading: [
      "Never more than 20 in any 4 s, to the millisecond, because it remembers when",
      "each was admitted. That is also its price: up to 20 entries for each key.",
    ],
  },
  permits(),
  month(),
];

console.log([...opening(), ...scenes.flatMap(draw), ""].join("\n"));

function opening(): string[] {
  return [
    "",
    ink.title(`  One caller, ${sum(offered)} requests in 16 seconds, through every algorithm`),
    ink.faint("  A column is 250 ms. The height of a bar is a count: ▁ is 1, ▄ is 4, █ is 8."),
    "",
    ink.faint(secondsRuler("")),
    bars("offered", offered, String),
  ];
}

function draw({ title, code, windows, outcome, row, remark, reading }: Scene): string[] {
  const admitted = ink.admitted(`${sum(outcome.admitted)} admitted`);
  const refused = ink.refused(`${sum(outcome.refused)} refused`);
  return [
    "",
    `  ${ink.title(title)}`,
    `  ${code}`,
    ...(windows === undefined ? [] : [ink.faint(windows)]),
    bars("admitted", outcome.admitted, ink.admitted),
    ...(row === undefined ? [] : [row]),
    bars("refused", outcome.refused, ink.refused),
    `  ${admitted}, ${refused}; ${remark}.`,
    ...reading.map((line) => ink.faint(`  ${line}`)),
  ];
}

function rate(limit: Limit): Pick<Scene, "outcome" | "remark"> {
  const outcome = checkAll(limit, seconds);
  return { outcome, remark: `${outcome.mostInFourSeconds} was the most within any 4 s` };
}

function shaper(): Scene {
  const outcome = checkAll(leakyBucket(queue), seconds);
  return {
    title: "Leaky bucket as a shaper",
    code: call("leakyBucket", queue),
    outcome,
    row: bars("leave", countBySlice(outcome.left, seconds), ink.later),
    remark: `${outcome.delayMsMax} ms was the longest wait`,
    reading: [
      "Queues a burst and spreads it: each request gets a delay, and",
      "those that wait leave exactly 200 ms apart. It refuses while 9 are waiting.",
    ],
  };
}

function permits(): Scene {
  const places = { limit: 6, permitMs: 4_000 };
  const holdMs = (request: number) => (request % 12 === 5 ? Infinity : 1_000);
  const outcome = acquireAll(concurrency(places), seconds, holdMs);
  return {
    title: "Concurrency",
    code: call("concurrency", places),
    outcome,
    row: bars("held", outcome.held, ink.later),
    remark: `${Math.max(...outcome.held)} was the most at the same time`,
    reading: [
      "Counts requests that are running, not those that arrive. Each holds a permit",
      "for 1 s; one in twelve never releases it, and that permit expires after 4 s.",
    ],
  };
}

function month(): Scene {
  const plan = { limit: 30, period: "month", timeZone: "Europe/Paris", anchor: 31 } as const;
  return {
    title: "Calendar quota",
    code: call("quota", plan),
    windows: ruler("periods", [
      { column: 1, text: "│31 Dec" },
      { column: 32, text: "│31 Jan" },
      { column: 60, text: "│28 Feb" },
    ]),
    outcome: checkAll(quota(plan), days),
    remark: "here a column is a day",
    reading: [
      "A plan that is paid on the 31st: the full quota is back on 31 January and,",
      "February being short, on the 28th. Until then, what is spent stays spent.",
    ],
  };
}

function secondsRuler(label: string): string {
  return ruler(
    label,
    [0, 4, 8, 12].map((second) => ({ column: second * 4, text: `│${second} s` })),
  );
}

function call(name: string, options: Readonly<Record<string, number | string>>): string {
  const fields = Object.entries(options).map(([field, value]) => `${field}: ${literal(value)}`);
  return `${name}({ ${fields.join(", ")} })`;
}

function literal(value: number | string): string {
  if (typeof value === "string") return JSON.stringify(value);
  return value.toLocaleString("en").replaceAll(",", "_");
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
