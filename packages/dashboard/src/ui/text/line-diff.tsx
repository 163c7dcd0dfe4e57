// Two texts compared line by line. Of long ones a part is drawn, and more when it is asked for: tens of thousands of
// lines would hold the page up.

import { useMemo, useState } from "preact/hooks";
import { formatCount } from "../formats/format.js";
import { Button } from "../forms/button.js";
import { escapeUnseen } from "./key-text.js";
import { cutAround, lineChanges } from "./line-changes.js";

/** Lines that are drawn together. */
const LINES = 300;

interface LineDiffProps {
  readonly before: string;
  readonly after: string;
}

/** The lines that differ, with a few around them. */
export function LineDiff({ before, after }: LineDiffProps) {
  const lines = useMemo(() => lineChanges(before, after), [before, after]);
  const [countMax, setCountMax] = useState(LINES);
  return (
    <>
      <pre class="line-diff">
        {lines.slice(0, countMax).map(({ mark, line }, at) => (
          <span key={at} class={mark === "-" ? "removed" : mark === "+" ? "added" : undefined}>
            {`${mark} ${escapeUnseen(cutAround(line, 0))}\n`}
          </span>
        ))}
      </pre>
      {lines.length > countMax && (
        <Button onClick={() => setCountMax(countMax + LINES)}>
          Show more lines ({formatCount(countMax)} of {formatCount(lines.length)} shown)
        </Button>
      )}
    </>
  );
}
