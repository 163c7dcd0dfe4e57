// Plots of a few characters.

const LEVELS = " ▁▂▃▄▅▆▇█";
const WIDTH = 60;

/** Counts as bars of one line: each character is as high as its counts, compared with the highest. */
export function bars(counts: readonly number[], width = WIDTH): string {
  const perColumn = Math.max(1, Math.ceil(counts.length / width));
  const columns: number[] = [];
  for (let from = 0; from < counts.length; from += perColumn)
    columns.push(counts.slice(from, from + perColumn).reduce((sum, each) => sum + each, 0));
  const most = Math.max(1, ...columns);
  return columns.map((sum) => LEVELS[levelOf(sum / most)]).join("");
}

/** A single refusal stays visible. */
function levelOf(share: number): number {
  return share === 0 ? 0 : Math.max(1, Math.round(share * (LEVELS.length - 1)));
}

/** A bar of this many characters at most. */
export function bar(share: number, width: number): string {
  return share <= 0 ? "" : "█".repeat(Math.max(1, Math.round(share * width)));
}
