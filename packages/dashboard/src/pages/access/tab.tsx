// What the tabs have in common: a list that is asked page by page, and a card around it.

import type { ComponentChildren } from "preact";
import type { ReplyName, ReplyOf } from "sluice-server/api";
import { type Answered, useAnswer } from "../../api/use-answer.js";
import { Card } from "../../ui/page.js";
import { Pager } from "../../ui/pager.js";
import { Loaded } from "../../ui/states.js";
import { useUrlQuery } from "../../ui/url-query.js";

const PAGE = 50;

/** A page of a list, at the place that the URL says, narrowed by the parameters of the URL that are named. */
export function useList<N extends ReplyName>(
  name: N,
  path: string,
  filters: readonly string[] = [],
): Answered<ReplyOf<N>> {
  const [url] = useUrlQuery();
  const narrowed = Object.fromEntries(filters.map((filter) => [filter, url[filter]]));
  return useAnswer(name, path, { query: { ...narrowed, after: url.after, limit: PAGE } });
}

interface ListCardProps<T> {
  readonly title: string;
  /** One sentence about what it is. */
  readonly lead: string;
  readonly actions?: ComponentChildren;
  readonly filters?: ComponentChildren;
  readonly answer: Answered<T>;
  children(page: T): ComponentChildren;
}

/** A list with its filters, its page and the way to the next one. */
export function ListCard<T extends { readonly next: string | null }>(props: ListCardProps<T>) {
  return (
    <Card title={props.title} actions={props.actions} isWide>
      <p class="note access-lead">{props.lead}</p>
      {props.filters}
      <Loaded answer={props.answer} lines={5}>
        {(page) => (
          <>
            {props.children(page)}
            <Pager next={page.next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}
