// Two texts compared, side by side where there is room; long ones line by line, because editors of them would hold the
// page up.

import { useEffect, useRef } from "preact/hooks";
import { LineDiff } from "../../../ui/text/line-diff.js";
import { openTextDiff, type TextDiffOptions } from "./editor/text-diff.js";

const NARROW = "(max-width: 760px)";

const EDITOR_LENGTH_MAX = 200_000;

type TextDiffProps = Omit<TextDiffOptions, "isNarrow">;

/** The difference of two texts. */
export function TextDiff(props: TextDiffProps) {
  const { before, after } = props;
  if (before.text.length + after.text.length <= EDITOR_LENGTH_MAX) return <InEditors {...props} />;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <section class="rules-text-diff" aria-label={`${before.name} and ${after.name}`} tabIndex={0}>
      <LineDiff before={before.text} after={after.text} />
    </section>
  );
}

function InEditors({ before, after }: TextDiffProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const { current } = host;
    if (current === null) return;
    const media = matchMedia(NARROW);
    const open = () => openTextDiff(current, { before, after, isNarrow: media.matches });
    let close = open();
    const reopen = () => {
      close();
      close = open();
    };
    media.addEventListener("change", reopen);
    return () => {
      media.removeEventListener("change", reopen);
      close();
    };
  }, [before.text, after.text]);
  return <div class="rules-text-diff" ref={host} />;
}
