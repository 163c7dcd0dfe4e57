// The page Key.

import { Page } from "../../ui/page.js";
import { Empty } from "../../ui/states.js";

/** The page. */
export function Key() {
  return (
    <Page title="Key">
      <Empty title="This page is not built yet" />
    </Page>
  );
}
