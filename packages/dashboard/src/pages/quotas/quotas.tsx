// The page Quotas.

import { Page } from "../../ui/page.js";
import { Empty } from "../../ui/states.js";

/** The page. */
export function Quotas() {
  return (
    <Page title="Quotas">
      <Empty title="This page is not built yet" />
    </Page>
  );
}
