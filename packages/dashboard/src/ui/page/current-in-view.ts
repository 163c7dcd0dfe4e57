// Rows of links scroll sideways on a phone: the link of the page that is open is brought into view.

import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** For the element around the links. @param current - What is open: a change of it scrolls. */
export function useCurrentInView(current: string): RefObject<HTMLElement | null> {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    const link = row.current?.querySelector<HTMLElement>("[aria-current=page]");
    if (link == null || row.current === null) return;
    const { offsetLeft, offsetWidth } = link;
    const middle = offsetLeft - row.current.offsetLeft + offsetWidth / 2;
    row.current.scrollLeft = middle - row.current.clientWidth / 2;
  }, [current]);
  return row;
}
