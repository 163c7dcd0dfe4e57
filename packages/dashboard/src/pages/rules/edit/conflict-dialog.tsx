// Two edits of one draft: both are shown, and the user chooses.

import type { ReplyOf } from "sluice-server/api";
import { Dialog } from "../../../ui/dialogs/dialog.js";
import { Button } from "../../../ui/forms/button.js";
import { TextDiff } from "./text-diff-box.js";

interface ConflictDialogProps {
  readonly mine: string;
  readonly theirs: ReplyOf<"ruleSet">;
  onClose(): void;
  onKeepMine(): void;
  onTakeTheirs(): void;
}

/** Asks which of two edits to keep. */
export function ConflictDialog(props: ConflictDialogProps) {
  const { mine, theirs, onClose, onKeepMine, onTakeTheirs } = props;
  return (
    <Dialog title="This draft was edited meanwhile" onClose={onClose}>
      <p class="note">
        Another operator saved draft {theirs.number} after you opened it. Theirs is on the left,
        yours on the right.
      </p>
      <TextDiff
        before={{ name: "Theirs", text: theirs.text }}
        after={{ name: "Yours", text: mine }}
      />
      <div class="dialog-end">
        <Button kind="quiet" onClick={onClose}>
          Edit further
        </Button>
        <Button onClick={onTakeTheirs}>Take theirs</Button>
        <Button kind="danger" onClick={onKeepMine}>
          Replace theirs with yours
        </Button>
      </div>
    </Dialog>
  );
}
