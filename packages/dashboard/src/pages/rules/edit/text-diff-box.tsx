// Two texts compared, side by side where there is room.

import { useEffect, useRef } from "preact/hooks";
import { openTextDiff, type TextDiffOptions } from "./editor/text-diff.js";

const NARROW = "(max-width: 760px)";

/** The difference of two texts. */
export function TextDiff({ before, after }: Omit<TextDiffOptions, "isNarrow">) {
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
