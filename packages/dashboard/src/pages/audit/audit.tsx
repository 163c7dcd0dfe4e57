// The page Audit.

import { Page } from "../../ui/page.js";
import { Empty } from "../../ui/states.js";

/** The page. */
export function Audit() {
  return (
    <Page title="Audit">
      <Empty title="This page is not built yet" />
    </Page>
  );
}
