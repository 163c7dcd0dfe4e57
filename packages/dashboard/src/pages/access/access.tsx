// The page Access.

import { Page } from "../../ui/page.js";
import { Empty } from "../../ui/states.js";

/** The page. */
export function Access() {
  return (
    <Page title="Access">
      <Empty title="This page is not built yet" />
    </Page>
  );
}
