// The dialog that removes or revokes something.

import type { ComponentChildren } from "preact";
import { ask } from "../../api/client.js";
import { Confirm } from "./dialog.js";
import { done } from "./toasts.js";

/** What is removed. */
export interface Removal {
  /** `/v1/plans/pro`. */
  readonly path: string;
  /** The revision that was seen; undefined for entities without revisions. */
  readonly revision?: number;
  readonly title: string;
  /** What the button says. */
  readonly verb: string;
  /** What happens then. */
  readonly children: ComponentChildren;
  readonly doneText: string;
}

interface RemoveDialogProps {
  readonly removal: Removal;
  onClose(): void;
  onDone(): Promise<void>;
}

/** Asks for a reason, and removes. */
export function RemoveDialog({ removal, onClose, onDone }: RemoveDialogProps) {
  const { path, revision, title, verb, children, doneText } = removal;
  const act = async (reason: string) => {
    const condition = revision === undefined ? {} : { ifMatch: revision };
    await ask("removed", path, { method: "DELETE", body: { reason }, ...condition });
    done(doneText);
    await onDone();
  };
  return (
    <Confirm title={title} verb={verb} isDangerous onClose={onClose} onConfirm={act}>
      <p>{children}</p>
    </Confirm>
  );
}
