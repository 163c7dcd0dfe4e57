// A plot of runs over time as SVG: what was admitted, and below it what one exact counter would have decided otherwise.
// One line for each run.

import { SLICE_MS, type Slice } from "../world/truth.js";

/** One line of a plot. */
export interface Line {
  readonly label: string;
  readonly timeline: readonly Slice[];
}

const LEFT = 72;
const WIDTH = 720;
const PANEL_WIDTH = WIDTH - LEFT - 16;
const PANEL_HEIGHT = 120;
const TOP = 80;
const GAP = 44;
const HEIGHT = TOP + 2 * PANEL_HEIGHT + GAP + 32;
const TICKS = 4;

// A background of its own: a page may be light while the system asks for dark.
const STYLE = `
    text { font: 12px system-ui, sans-serif; fill: #57606a }
    .title { font-weight: 600; fill: #1f2328 }
    .page { fill: #ffffff; stroke: #d0d7de }
    .grid { stroke: #d0d7de; fill: none }
    .line { fill: none; stroke-width: 1.5 }
    .c0 { stroke: #1f6feb } .c1 { stroke: #1a7f37 } .c2 { stroke: #bf8700 } .c3 { stroke: #cf222e } .c4 { stroke: #8250df } .c5 { stroke: #bf3989 }
    @media (prefers-color-scheme: dark) {
      text { fill: #9198a1 }
      .title { fill: #f0f6fc }
      .page { fill: #0d1117; stroke: #3d444d }
      .grid { stroke: #3d444d }
    }
  `;

/** What a panel shows of a slice, as a number of decisions. */
interface Panel {
  readonly title: string;
  read(slice: Slice): number;
}

const PANELS: readonly Panel[] = [
  { title: "admitted a second", read: ({ admitted }) => admitted },
  {
    title: "decided wrongly a second: above the limit or refused early",
    read: ({ early, excess }) => early + excess,
  },
];

/** The plot as an SVG document. */
export function toPlot(title: string, lines: readonly Line[]): string {
  const slices = Math.max(...lines.map(({ timeline }) => timeline.length));
  const panels = PANELS.map((panel, i) => {
    const top = TOP + i * (PANEL_HEIGHT + GAP);
    return drawPanel(panel, lines, { top, slices });
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
  <style>${STYLE}</style>
  <rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${HEIGHT - 1}" rx="6"/>
  <text class="title" x="16" y="22">${title}</text>
${[...lines.map(drawLegend), ...panels, drawTimes(slices)].join("\n")}
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
  { top, slices }: { top: number; slices: number },
): string {
  const perSecond = lines.map(({ timeline }) =>
    timeline.map((slice) => (read(slice) * 1_000) / SLICE_MS),
  );
  const most = roundUp(Math.max(1, ...perSecond.flat()));
  const x = (slice: number) => round(LEFT + (slice * PANEL_WIDTH) / slices);
  const y = (value: number) => round(top + PANEL_HEIGHT * (1 - value / most));
  const paths = perSecond.map((values, i) => {
    const points = values.map((value, slice) => `${x(slice)} ${y(value)}`);
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

function drawTimes(slices: number): string {
  const seconds = (slices * SLICE_MS) / 1_000;
  const marks = Array.from({ length: TICKS + 1 }, (_, i) => {
    const x = round(LEFT + (i * PANEL_WIDTH) / TICKS);
    return `  <text x="${x}" y="${HEIGHT - 12}" text-anchor="middle">${round((i * seconds) / TICKS)} s</text>`;
  });
  return marks.join("\n");
}

/** The next number that reads well: 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= value) ?? value;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
