// Which lines differ between two texts, and the part of a long line that is worth showing.

/** A line of a text, and whether it was removed, added or stayed. */
export interface LineChange {
  readonly mark: "-" | "+" | " ";
  readonly line: string;
}

const CONTEXT = 3;

/** What stands between the first and the last line that differ, with a few lines around. */
export function lineChanges(before: string, after: string): LineChange[] {
  const [old, now] = [toLines(before), toLines(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  )
    end++;
  const marked = (mark: LineChange["mark"], lines: readonly string[]) =>
    lines.map((line) => ({ mark, line }));
  return [
    ...marked(" ", now.slice(Math.max(0, start - CONTEXT), start)),
    ...marked("-", old.slice(start, old.length - end)),
    ...marked("+", now.slice(start, now.length - end)),
    ...marked(" ", now.slice(now.length - end, Math.min(now.length, now.length - end + CONTEXT))),
  ];
}

function toLines(text: string): readonly string[] {
  return text === "" ? [] : text.split("\n");
}

const CUT = 2_000;
const BEFORE_PLACE = 200;

/** A value of at most 2,000 characters; of a longer one the part around a place, and how much was left out. */
export function cutAround(value: string, place: number): string {
  if (value.length <= CUT) return value;
  const start = Math.max(0, Math.min(place - BEFORE_PLACE, value.length - CUT));
  const end = start + CUT;
  const leftOut = (count: number) => (count === 0 ? "" : `… ${count} more characters …`);
  return [leftOut(start), value.slice(start, end), leftOut(value.length - end)]
    .filter((part) => part !== "")
    .join(" ");
}
