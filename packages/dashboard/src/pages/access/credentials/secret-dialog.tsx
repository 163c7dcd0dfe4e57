// A secret that was just made. It is here as long as the dialog is open, and nowhere else.

import { Dialog } from "../../../ui/dialogs/dialog.js";
import { Button } from "../../../ui/forms/button.js";
import { CopyButton } from "../../../ui/text/copy.js";

interface SecretDialogProps {
  readonly title: string;
  readonly secret: string;
  /** How it is used. */
  readonly hint: string;
  onClose(): void;
}

/** Shows a secret once. */
export function SecretDialog({ title, secret, hint, onClose }: SecretDialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p class="notice">Copy it now: it will not be shown again. Sluice keeps only a hash of it.</p>
      <p class="access-secret">
        <code>{secret}</code>
        <CopyButton value={secret} />
      </p>
      <p class="hint">{hint}</p>
      <div class="dialog-end">
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      </div>
    </Dialog>
  );
}
