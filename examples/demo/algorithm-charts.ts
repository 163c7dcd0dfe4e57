// Draws the charts of docs/guides/choosing-an-algorithm.md: the traffic of `npm run demo` goes through each
// algorithm on a ManualClock, so the files are the same each time. To write them again after a change:
// `npm run charts`. A test compares them.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  concurrency,
  fixedWindow,
  leakyBucket,
  quota,
  slidingWindowCounter,
  slidingWindowLog,
  tokenBucket,
} from "sluice";
import { acquireAll, checkAll, type Outcome, type Span } from "./scene.js";
import { countBySlice } from "./traffic.js";

/** Where the charts are, from the root of the repository. */
export const CHARTS_FOLDER = "docs/charts";

/** One chart: the outcome of the traffic under one limit. */
interface Chart {
  readonly title: string;
  readonly outcome: Outcome;
  /** A second row of bars, such as departures or permits held. */
  readonly row?: { readonly label: string; readonly counts: readonly number[] };
  readonly marks: readonly Mark[];
  /** Whether marks are the borders of windows, drawn as lines through the bars. */
  readonly hasWindows?: boolean;
  readonly remark: string;
}

/** A label on the time axis, at a column. */
interface Mark {
  readonly column: number;
  readonly text: string;
}

// Windows of four seconds start at columns 0, 16, 32 and 48.
const seconds: Span = { startMs: Date.UTC(2026, 0, 1), sliceMs: 250 };
// A column for each day from 30 December in Paris, so that 31 January lies inside the burst.
const days: Span = { startMs: Date.UTC(2025, 11, 29, 23), sliceMs: 86_400_000 };

const COLUMNS = 64;
const COLUMN_WIDTH = 9;
const UNIT_HEIGHT = 7;
const ROW_HEIGHT = 8 * UNIT_HEIGHT;
const LEFT = 88;
const WIDTH = LEFT + COLUMNS * COLUMN_WIDTH + 16;

// A background of its own: a page may be light while the system asks for dark.
const STYLE = `
    text { font: 12px system-ui, sans-serif; fill: #57606a }
    .title { font-weight: 600; fill: #1f2328 }
    .page { fill: #ffffff; stroke: #d0d7de }
    .line { stroke: #8c959f; fill: none }
    .window { stroke: #8c959f; stroke-dasharray: 3 3; fill: none }
    .admitted { fill: #1f6feb }
    .refused { fill: #f0883e }
    .row { fill: #6e7781 }
    @media (prefers-color-scheme: dark) {
      text { fill: #9198a1 }
      .title { fill: #f0f6fc }
      .page { fill: #0d1117; stroke: #3d444d }
      .admitted { fill: #58a6ff }
      .refused { fill: #db6d28 }
      .row { fill: #9198a1 }
    }
  `;

/** Every chart as SVG, by file name. */
export function drawCharts(): Map<string, string> {
  return new Map([
    ["token-bucket.svg", draw(tokens())],
    ["leaky-bucket.svg", draw(shaper())],
    ["fixed-window.svg", draw(fixed())],
    ["sliding-window-counter.svg", draw(slidingCounter())],
    ["sliding-window-log.svg", draw(slidingLog())],
    ["concurrency.svg", draw(permits())],
    ["quota.svg", draw(month())],
  ]);
}

function tokens(): Chart {
  const outcome = checkAll(tokenBucket({ capacity: 10, refillPerSecond: 5 }), seconds);
  return {
    title: "Token bucket: capacity 10, 5 tokens a second",
    outcome,
    marks: secondMarks(),
    remark: mostInFourSeconds(outcome),
  };
}

function shaper(): Chart {
  const outcome = checkAll(leakyBucket({ ratePerSecond: 5, queueSize: 9 }), seconds);
  return {
    title: "Leaky bucket as a shaper: 5 a second, 9 may wait",
    outcome,
    row: { label: "leave", counts: countBySlice(outcome.left, seconds) },
    marks: secondMarks(),
    remark: `longest wait: ${outcome.delayMsMax} ms`,
  };
}

const window = { limit: 20, windowMs: 4_000 };

function fixed(): Chart {
  const outcome = checkAll(fixedWindow(window), seconds);
  return {
    title: "Fixed window: 20 in each 4 s",
    outcome,
    marks: secondMarks(),
    hasWindows: true,
    remark: mostInFourSeconds(outcome),
  };
}

function slidingCounter(): Chart {
  const outcome = checkAll(slidingWindowCounter(window), seconds);
  return {
    title: "Sliding window counter: 20 in 4 s, estimated",
    outcome,
    marks: secondMarks(),
    hasWindows: true,
    remark: mostInFourSeconds(outcome),
  };
}

function slidingLog(): Chart {
  const outcome = checkAll(slidingWindowLog(window), seconds);
  return {
    title: "Sliding window log: 20 in any 4 s, exactly",
    outcome,
    marks: secondMarks(),
    remark: mostInFourSeconds(outcome),
  };
}

// Each request holds its permit for one second. One in twelve never releases it.
function permits(): Chart {
  const holdMs = (request: number) => (request % 12 === 5 ? Infinity : 1_000);
  const outcome = acquireAll(concurrency({ limit: 6, permitMs: 4_000 }), seconds, holdMs);
  return {
    title: "Concurrency: 6 permits, which expire after 4 s",
    outcome,
    row: { label: "held", counts: outcome.held },
    marks: secondMarks(),
    remark: `most permits held: ${Math.max(...outcome.held)}`,
  };
}

function month(): Chart {
  const plan = { limit: 30, period: "month", timeZone: "Europe/Paris", anchor: 31 } as const;
  return {
    title: "Quota: 30 in each month that begins on the 31st; a column is a day",
    outcome: checkAll(quota(plan), days),
    marks: [
      { column: 1, text: "31 Dec" },
      { column: 32, text: "31 Jan" },
      { column: 60, text: "28 Feb" },
    ],
    hasWindows: true,
    remark: "",
  };
}

function draw(chart: Chart): string {
  const { outcome, row, remark } = chart;
  const baseline = 36 + ROW_HEIGHT;
  const rowBaseline = baseline + (row === undefined ? 0 : ROW_HEIGHT + 8);
  const height = rowBaseline + 44;
  const admitted = `${sum(outcome.admitted)} admitted`;
  const refused = `${sum(outcome.refused)} refused`;
  const summary = [admitted, refused, remark].filter((part) => part !== "").join(", ");
  const stacked = outcome.refused.map((count, column) => ({
    count,
    from: outcome.admitted[column] as number,
  }));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `  <title>${chart.title}: ${summary}</title>`,
    `  <style>${STYLE}</style>`,
    `  <rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6"/>`,
    `  <text class="title" x="16" y="22">${chart.title}</text>`,
    ...chart.marks.flatMap((mark) => drawMark(mark, chart.hasWindows === true, rowBaseline)),
    label("requests", baseline),
    path("admitted", bars(toBars(outcome.admitted), baseline)),
    path("refused", bars(stacked, baseline)),
    axis(baseline),
    ...(row === undefined ? [] : drawRow(row, rowBaseline)),
    ...drawLegend([admitted, refused, remark], height - 10),
    "</svg>",
    "",
  ].join("\n");
}

function drawRow(row: NonNullable<Chart["row"]>, baseline: number): string[] {
  const drawn = path("row", bars(toBars(row.counts), baseline));
  return [label(row.label, baseline), drawn, axis(baseline)];
}

function drawMark(mark: Mark, isWindow: boolean, baseline: number): string[] {
  const x = LEFT + mark.column * COLUMN_WIDTH;
  const text = `  <text x="${x}" y="${baseline + 15}">${mark.text}</text>`;
  return isWindow ? [text, `  <path class="window" d="M${x - 0.5} 30V${baseline}"/>`] : [text];
}

function drawLegend(texts: readonly string[], y: number): string[] {
  const [admitted, refused, remark] = texts as [string, string, string];
  return [
    `  <rect class="admitted" x="${LEFT}" y="${y - 9}" width="9" height="9"/>`,
    `  <text x="${LEFT + 14}" y="${y}">${admitted}</text>`,
    `  <rect class="refused" x="${LEFT + 120}" y="${y - 9}" width="9" height="9"/>`,
    `  <text x="${LEFT + 134}" y="${y}">${refused}</text>`,
    ...(remark === "" ? [] : [`  <text x="${LEFT + 240}" y="${y}">${remark}</text>`]),
  ];
}

function label(text: string, baseline: number): string {
  return `  <text x="16" y="${baseline - 2}">${text}</text>`;
}

function axis(baseline: number): string {
  return `  <path class="line" d="M${LEFT} ${baseline + 0.5}h${COLUMNS * COLUMN_WIDTH}"/>`;
}

/** A bar of a column: this many units, on top of `from` others. */
interface Bar {
  readonly count: number;
  readonly from: number;
}

function toBars(counts: readonly number[]): Bar[] {
  return counts.map((count) => ({ count, from: 0 }));
}

function bars(columns: readonly Bar[], baseline: number): string {
  return columns
    .map(({ count, from }, column) => {
      if (count === 0) return "";
      const x = LEFT + column * COLUMN_WIDTH + 1;
      const width = COLUMN_WIDTH - 2;
      return `M${x} ${baseline - from * UNIT_HEIGHT}h${width}v-${count * UNIT_HEIGHT}h-${width}z`;
    })
    .join("");
}

function path(name: string, drawn: string): string {
  return `  <path class="${name}" d="${drawn}"/>`;
}

function secondMarks(): Mark[] {
  return [0, 4, 8, 12].map((second) => ({ column: second * 4, text: `${second} s` }));
}

function mostInFourSeconds(outcome: Outcome): string {
  return `most within any 4 s: ${outcome.mostInFourSeconds}`;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}

if (process.argv[1] === import.meta.filename) {
  const folder = join(process.cwd(), CHARTS_FOLDER);
  mkdirSync(folder, { recursive: true });
  for (const [name, svg] of drawCharts()) writeFileSync(join(folder, name), svg);
}
