// A draft before it is published.
import { Page } from "../../../ui/page.js";

/** The page. */
export function Review({ number }: { readonly number: number }) {
  return <Page title={`Draft ${number}`}>{null}</Page>;
}
