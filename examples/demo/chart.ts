// Draws rows of counts as bars in a terminal, one column for each slice of time. The height of a
// bar is the count itself, from ▁ for 1 to █ for 8, so that a chart can be read off exactly.

/** The colours of a chart; the empty ones when colour is not wanted. */
export interface Ink {
  readonly admitted: (text: string) => string;
  readonly refused: (text: string) => string;
  readonly later: (text: string) => string;
  readonly title: (text: string) => string;
  readonly faint: (text: string) => string;
}

/** Inks for a terminal that shows colours. */
export const coloured: Ink = {
  admitted: paint(32),
  refused: paint(31),
  later: paint(36),
  title: paint(1),
  faint: paint(2),
};

/** No colours: for files, pipes and users who turned colours off. */
export const plain: Ink = {
  admitted: String,
  refused: String,
  later: String,
  title: String,
  faint: String,
};

const LABEL_WIDTH = 11;
const BARS = " ▁▂▃▄▅▆▇█";

/** A labelled row of bars. Counts above 8 look like 8. */
export function bars(label: string, counts: readonly number[], ink: (text: string) => string) {
  return labelled(
    label,
    ink(
      counts
        .map((count) => BARS[Math.min(count, 8)])
        .join("")
        .trimEnd(),
    ),
  );
}

/** A labelled row of text that starts at given columns. */
export function ruler(label: string, marks: readonly { column: number; text: string }[]): string {
  const line = marks.reduce((text, mark) => text.padEnd(mark.column) + mark.text, "");
  return labelled(label, line);
}

function labelled(label: string, line: string): string {
  return `  ${label.padEnd(LABEL_WIDTH)}${line}`.trimEnd();
}

function paint(code: number): (text: string) => string {
  return (text) => `\x1b[${code}m${text}\x1b[0m`;
}
