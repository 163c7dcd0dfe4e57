// A plot of runs over time as SVG: what was admitted, and below it what one exact counter would have decided otherwise.
// One line for each run.

import { SLICE_MS, type Slice } from "../world/truth.js";

/** One line of a plot. */
export interface Line {
  readonly label: string;
  readonly timeline: readonly Slice[];
}

const LEFT = 72;
const RIGHT = 24;
const WIDTH = 720;
const PANEL_WIDTH = WIDTH - LEFT - RIGHT;
const PANEL_HEIGHT = 120;
const TOP = 80;
const GAP = 44;
const HEIGHT = TOP + 2 * PANEL_HEIGHT + GAP + 32;
/** The most marks of time, and the most points of a line: more of them hide each other. */
const TICKS_MAX = 10;
const POINTS_MAX = 100;

// A background of its own: a page may be light while the system asks for dark.
const STYLE = `
    text { font: 12px system-ui, sans-serif; fill: #57606a }
    .title { font-weight: 600; fill: #1f2328 }
    .page { fill: #ffffff; stroke: #d0d7de }
    .grid { stroke: #d0d7de; fill: none }
    .line { fill: none; stroke-width: 1.5 }
    .fault { stroke: #57606a; stroke-dasharray: 2 4; fill: none }
    .c0 { stroke: #1f6feb } .c1 { stroke: #1a7f37 } .c2 { stroke: #bf8700 } .c3 { stroke: #cf222e } .c4 { stroke: #8250df } .c5 { stroke: #bf3989 }
    @media (prefers-color-scheme: dark) {
      text { fill: #9198a1 }
      .title { fill: #f0f6fc }
      .page { fill: #0d1117; stroke: #3d444d }
      .grid { stroke: #3d444d }
      .fault { stroke: #9198a1 }
    }
  `;

/** What a panel shows of a slice, as a number of decisions. */
interface Panel {
  readonly title: string;
  read(slice: Slice): number;
}

const PANELS: readonly Panel[] = [
  { title: "admitted per second", read: ({ admitted }) => admitted },
  {
    title: "wrong decisions per second: above the limit, or refused early",
    read: ({ early, excess }) => early + excess,
  },
];

/** What a plot shows. */
export interface Plot {
  readonly title: string;
  readonly lines: readonly Line[];
  /** When something went wrong or was repaired, in milliseconds from the start. */
  readonly faultsAtMs: readonly number[];
}

/** How slices lie on the axis of time. */
interface TimeAxis {
  readonly slices: number;
  /** Slices that one point stands for. */
  readonly perPoint: number;
  x(slice: number): number;
}

/** The plot as an SVG document. */
export function toPlot({ title, lines, faultsAtMs }: Plot): string {
  const slices = Math.max(...lines.map(({ timeline }) => timeline.length));
  const axis: TimeAxis = {
    slices,
    perPoint: Math.ceil(slices / POINTS_MAX),
    x: (slice) => round(LEFT + (slice * PANEL_WIDTH) / slices),
  };
  const panels = PANELS.map((panel, i) =>
    drawPanel(panel, lines, { top: TOP + i * (PANEL_HEIGHT + GAP), axis }),
  );
  const faults = drawFaults(faultsAtMs, axis);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
  <style>${STYLE}</style>
  <rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="6"/>
  <text class="title" x="16" y="22">${title}</text>
${[...lines.map(drawLegend), ...faults, ...panels, drawTimes(axis)].join("\n")}
</svg>
`;
}

function drawLegend({ label }: Line, i: number): string {
  const x = LEFT + i * 104;
  return `  <path class="line c${i}" d="M${x} 42h18"/><text x="${x + 24}" y="46">${label}</text>`;
}

function drawPanel(
  { title, read }: Panel,
  lines: readonly Line[],
  { top, axis }: { top: number; axis: TimeAxis },
): string {
  const perSecond = lines.map(({ timeline }) => toPoints(timeline.map(read), axis.perPoint));
  const most = roundUp(Math.max(1, ...perSecond.flat()));
  const y = (value: number) => round(top + PANEL_HEIGHT * (1 - value / most));
  const paths = perSecond.map((values, i) => {
    const points = values.map((value, point) => `${axis.x(point * axis.perPoint)} ${y(value)}`);
    return `  <path class="line c${i}" d="M${points.join("L")}"/>`;
  });
  return [
    `  <text x="${LEFT}" y="${top - 8}">${title}</text>`,
    `  <path class="grid" d="M${LEFT} ${top}h${PANEL_WIDTH}M${LEFT} ${top + PANEL_HEIGHT}h${PANEL_WIDTH}"/>`,
    `  <text x="${LEFT - 8}" y="${top + 4}" text-anchor="end">${most.toLocaleString("en")}</text>`,
    `  <text x="${LEFT - 8}" y="${top + PANEL_HEIGHT + 4}" text-anchor="end">0</text>`,
    ...paths,
  ].join("\n");
}

/** Counts a second, averaged over `perPoint` slices; slices at the end that fill no point are left out. */
function toPoints(counts: readonly number[], perPoint: number): number[] {
  return Array.from({ length: Math.floor(counts.length / perPoint) }, (_, point) => {
    const from = point * perPoint;
    const sum = counts.slice(from, from + perPoint).reduce((all, count) => all + count, 0);
    return (sum * 1_000) / (perPoint * SLICE_MS);
  });
}

function drawFaults(faultsAtMs: readonly number[], { slices, x }: TimeAxis): string[] {
  const shown = faultsAtMs.map((atMs) => atMs / SLICE_MS).filter((slice) => slice <= slices);
  if (shown.length === 0) return [];
  const line = (slice: number) => `M${x(slice)} ${TOP}V${TOP + 2 * PANEL_HEIGHT + GAP}`;
  return [`  <path class="fault" d="${shown.map(line).join("")}"/>`];
}

function drawTimes({ slices, x }: TimeAxis): string {
  const seconds = (slices * SLICE_MS) / 1_000;
  const stepSeconds = roundUp(seconds / TICKS_MAX);
  const count = Math.floor(seconds / stepSeconds);
  const marks = Array.from({ length: count + 1 }, (_, i) => {
    const at = x((i * stepSeconds * 1_000) / SLICE_MS);
    return `  <text x="${at}" y="${HEIGHT - 12}" text-anchor="middle">${round(i * stepSeconds)} s</text>`;
  });
  return marks.join("\n");
}

/** The next number that reads well. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return (
    [1, 1.5, 2, 3, 5, 7.5, 10].map((factor) => factor * power).find((each) => each >= value) ??
    value
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
