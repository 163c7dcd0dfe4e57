// The page Live.

import { Page } from "../../ui/page.js";
import { Empty } from "../../ui/states.js";

/** The page. */
export function Live() {
  return (
    <Page title="Live">
      <Empty title="This page is not built yet" />
    </Page>
  );
}
