// Dialogs, and the one that every audited act goes through: it says what will happen and asks for a reason.

import type { ComponentChildren, TargetedEvent } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useHasSessionEnded } from "../../api/session.js";
import { Button } from "../forms/button.js";
import { Field } from "../forms/field.js";

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  onClose(): void;
}

/**
 * A dialog over the page; Escape closes it, and the focus returns to what opened it. While the login covers the page, it
 * waits: the dialog that opens last lies above all others.
 */
export function Dialog({ title, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const isCovered = useHasSessionEnded();
  useEffect(() => {
    if (!isCovered && dialog.current?.open === false) dialog.current.showModal();
  }, [isCovered]);
  useEffect(() => {
    const { current } = dialog;
    return () => current?.close();
  }, []);
  // The browser sends "close" later, perhaps when this dialog is gone and its owner shows another one.
  const closed = (event: TargetedEvent<HTMLDialogElement>) => {
    if (event.currentTarget.isConnected) onClose();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby={id} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps extends DialogProps {
  /** What the button says: `Block`. */
  readonly verb: string;
  readonly isDangerous?: boolean;
  /** Whether the other fields of the dialog are filled in. Default true. */
  readonly isComplete?: boolean;
  /** Whether a reason has to be given. Default true. */
  readonly needsReason?: boolean;
  /** Acts; the dialog closes when it resolves, and shows why if it rejects. */
  onConfirm(reason: string): Promise<void>;
}

/** Asks for a reason and confirmation, and then acts. */
export function Confirm(props: ConfirmProps) {
  const { needsReason = true, isComplete = true } = props;
  const [reason, setReason] = useState("");
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      await props.onConfirm(reason.trim());
      props.onClose();
    } catch (error) {
      setProblem((error as Error).message);
      setIsBusy(false);
    }
  };
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form onSubmit={submit}>
        {props.children}
        <Field
          label={needsReason ? "Reason" : "Reason (optional)"}
          value={reason}
          onInput={setReason}
          isRequired={needsReason}
          hint="Kept in the audit log."
        />
        {problem !== undefined && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-end">
          <Button kind="quiet" onClick={props.onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            kind={props.isDangerous === true ? "danger" : "primary"}
            isBusy={isBusy}
            isDisabled={!isComplete || (needsReason && reason.trim() === "")}
          >
            {props.verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
