// The page Playground.

import { Page } from "../../ui/page.js";
import { Empty } from "../../ui/states.js";

/** The page. */
export function Playground() {
  return (
    <Page title="Playground">
      <Empty title="This page is not built yet" />
    </Page>
  );
}
