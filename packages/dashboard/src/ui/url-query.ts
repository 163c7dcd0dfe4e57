// What the query of the URL says about the view, and links to other views: every view has a URL, so that it can be sent
// to a colleague and the back button works.

import { useLocation } from "preact-iso";

/** Parts of a query; undefined and empty ones are left out. */
export type UrlQuery = Readonly<Record<string, string | undefined>>;

/** The query of the URL, and how to change it: parts that are not given stay as they are. */
export function useUrlQuery(): readonly [UrlQuery, (changes: UrlQuery) => void] {
  const { path, query, route } = useLocation();
  return [query, (changes) => route(toUrl(path, { ...query, ...changes }))];
}

/** A path with a query: `/dashboard/key?ip=203.0.113.7`. */
export function toUrl(path: string, query: UrlQuery = {}): string {
  const given = Object.entries(query).filter(
    (part): part is [string, string] => part[1] !== undefined && part[1] !== "",
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
