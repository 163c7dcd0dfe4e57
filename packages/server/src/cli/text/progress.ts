// A bar that shows how much of something is done.

const BAR_WIDTH_MAX = 40;

/** `[#########-----------]  45%  450,000 of 1,000,000 entries`, no wider than a terminal. */
export function formatProgress(done: number, total: number, columns: number): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const number = (value: number) => value.toLocaleString("en-GB");
  const words = `${String(Math.floor(share * 100)).padStart(3)}%  ${number(done)} of ${number(total)} entries`;
  const width = Math.min(BAR_WIDTH_MAX, columns - words.length - 4);
  if (width < 5) return words.slice(0, columns);
  const filled = Math.round(share * width);
  return `[${"#".repeat(filled)}${"-".repeat(width - filled)}] ${words}`;
}
