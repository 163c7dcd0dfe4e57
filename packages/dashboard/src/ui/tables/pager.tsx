// Leads from one page of a list to the next. The URL has the place, so the back button leads to the page before.

import { Button } from "../forms/button.js";
import { useUrlQuery } from "../url-query.js";

interface PagerProps {
  /** `next` of the answer: null on the last page. */
  readonly next: string | null | undefined;
  /** The parameter of the URL that has the place. */
  readonly name?: string;
}

/** Buttons to the first and to the next page; nothing if there is only one. */
export function Pager({ next, name = "after" }: PagerProps) {
  const [query, setQuery] = useUrlQuery();
  const isFirst = query[name] === undefined;
  if (isFirst && (next === null || next === undefined)) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <Button isDisabled={isFirst} onClick={() => setQuery({ [name]: undefined })}>
        First page
      </Button>
      <Button
        isDisabled={next === null || next === undefined}
        onClick={() => setQuery({ [name]: next ?? undefined })}
      >
        Next page
      </Button>
    </nav>
  );
}
