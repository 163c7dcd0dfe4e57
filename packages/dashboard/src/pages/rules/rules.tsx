// The page Rules.

import { Page } from "../../ui/page.js";
import { Empty } from "../../ui/states.js";

/** The page. */
export function Rules() {
  return (
    <Page title="Rules">
      <Empty title="This page is not built yet" />
    </Page>
  );
}
