// What pages show on a node without a control plane: how to add one, or which node has it.

import type { ComponentChildren } from "preact";
import { useControlPlane } from "../../api/session.js";
import { CopyButton } from "../text/copy.js";
import { Empty } from "./states.js";

const CONFIGURATION = `control:
  database: file:sluice.db`;

/** Whether this node answers questions about the control plane. */
export function useHasControlPlane(): boolean {
  return useControlPlane() === "here";
}

interface NeedsControlPlaneProps {
  /** What needs it: `Plans, tenants and keys`. */
  readonly what: string;
  readonly children: ComponentChildren;
}

/** The content, where this node has a control plane; otherwise what to do about it. */
export function NeedsControlPlane({ what, children }: NeedsControlPlaneProps) {
  const controlPlane = useControlPlane();
  if (controlPlane === "here") return <>{children}</>;
  if (controlPlane === "elsewhere")
    return (
      <Empty title="This node follows a control plane">
        <p>{what} are kept by the node that it follows. Open the dashboard of that node.</p>
      </Empty>
    );
  return (
    <Empty title="There is no control plane">
      <p>{what} are kept in a database. Add this to the configuration, and restart:</p>
      <pre class="snippet">{CONFIGURATION}</pre>
      <CopyButton value={CONFIGURATION} />
    </Empty>
  );
}
