// Tables with aligned columns. Colours are added after a table is formatted, so that they don't count as
// characters.

/** How the cells of a column are aligned. */
export type Align = "left" | "right";

/** Sets rows as lines of columns, two spaces apart; cells that are missing are blank. */
export function formatTable(
  rows: readonly (readonly string[])[],
  aligns: readonly Align[] = [],
): string[] {
  const count = rows.reduce((most, row) => Math.max(most, row.length), 0);
  const widths = Array.from({ length: count }, (_, column) =>
    rows.reduce((widest, row) => Math.max(widest, widthOf(row[column] ?? "")), 0),
  );
  return rows.map((row) =>
    widths
      .map((width, column) => pad(row[column] ?? "", width, aligns[column]))
      .join("  ")
      .trimEnd(),
  );
}

/** Cuts lines that are wider than the terminal. */
export function clip(line: string, columns: number): string {
  const characters = [...line];
  return characters.length <= columns ? line : `${characters.slice(0, columns - 1).join("")}…`;
}

function pad(cell: string, width: number, align: Align = "left"): string {
  const gap = " ".repeat(Math.max(0, width - widthOf(cell)));
  return align === "right" ? gap + cell : cell + gap;
}

function widthOf(cell: string): number {
  return [...cell].length;
}
