// A text of any length, in a box that scrolls. It is cut into blocks, and the browser lays out only those that are
// seen: all of a megabyte would hold the page up. Searching in the page finds the others too.

interface LongTextProps {
  readonly text: string;
  /** What it is, for screen readers. */
  readonly label: string;
}

const BLOCK_LINES = 200;
const LINE_LENGTH_MAX = 1_000;

/** The text, as it is written. */
export function LongText({ text, label }: LongTextProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="long-text" aria-label={label} tabIndex={0}>
      {toBlocks(text).map(({ lines, lineCount }, at) => (
        <pre key={at} style={{ "--lines": lineCount }}>
          {lines}
        </pre>
      ))}
    </section>
  );
}

function toBlocks(text: string) {
  const all = text.split("\n").flatMap(toParts);
  return Array.from({ length: Math.ceil(all.length / BLOCK_LINES) }, (_, block) => {
    const lines = all.slice(block * BLOCK_LINES, (block + 1) * BLOCK_LINES);
    return { lines: lines.join("\n"), lineCount: lines.length };
  });
}

/** A line that is very long is broken. */
function toParts(line: string): string[] {
  if (line.length <= LINE_LENGTH_MAX) return [line];
  const count = Math.ceil(line.length / LINE_LENGTH_MAX);
  return Array.from({ length: count }, (_, part) =>
    line.slice(part * LINE_LENGTH_MAX, (part + 1) * LINE_LENGTH_MAX),
  );
}
