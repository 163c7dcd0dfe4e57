// Versions of rules are kept in a control plane. Where this node has none, the page says what to do instead.

import type { ComponentChildren } from "preact";
import { useControlPlane } from "../../api/session.js";
import { Empty } from "../../ui/states.js";

/** Its content where there is a control plane. */
export function NeedsControl({ children }: { readonly children: ComponentChildren }) {
  const place = useControlPlane();
  if (place === "here") return <>{children}</>;
  if (place === "elsewhere")
    return (
      <Empty title="The rules are kept elsewhere">
        This node follows a control plane. Open the dashboard of that node to edit them.
      </Empty>
    );
  return (
    <Empty title="The rules come from a file">
      <p>
        To edit them here, with drafts, history and roll back, add a control plane to the
        configuration:
      </p>
      <p>
        <code>{'control: { database: "file:sluice.db" }'}</code>
      </p>
    </Empty>
  );
}
