// The editor of rules.

import { Page } from "../../../ui/page.js";
import { Empty } from "../../../ui/states.js";

/** The page. */
export function Editing(_: { readonly draft: number | undefined }) {
  return (
    <Page title="Edit rules">
      <Empty title="Use the command for now">
        <code>sluice rules push rules.yaml --publish</code>
      </Empty>
    </Page>
  );
}
