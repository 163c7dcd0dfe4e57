// The dialog that makes or changes something. An edit says which revision it was made to; if another operator was faster, the
// dialog says so, and shows what is there now.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError } from "../../api/client.js";
import { Confirm } from "../../ui/dialogs/dialog.js";
import { done } from "../../ui/dialogs/toasts.js";

interface EditDialogProps<T> {
  readonly title: string;
  /** What the button says: `Save`. */
  readonly verb: string;
  /** What is said when it is done. */
  readonly doneText: string;
  readonly isComplete: boolean;
  readonly needsReason?: boolean;
  readonly children: ComponentChildren;
  /** Sends the change. */
  save(reason: string): Promise<unknown>;
  /** Called with what is there now, if it was changed meanwhile. */
  onConflict?(current: T): void;
  onClose(): void;
  onDone(): Promise<void>;
}

/** A dialog with fields. */
export function EditDialog<T>(props: EditDialogProps<T>) {
  const [hasChanged, setHasChanged] = useState(false);
  const confirm = async (reason: string) => {
    try {
      await props.save(reason);
    } catch (error) {
      const current = error instanceof ApiError && error.status === 409 && error.fields.current;
      if (typeof current !== "object" || current === null || props.onConflict === undefined)
        throw error;
      props.onConflict(current as T);
      setHasChanged(true);
      throw new Error("It was changed meanwhile. The fields show what it says now.");
    }
    done(props.doneText);
    await props.onDone();
  };
  return (
    <Confirm
      title={props.title}
      verb={props.verb}
      isComplete={props.isComplete}
      needsReason={props.needsReason ?? false}
      onClose={props.onClose}
      onConfirm={confirm}
    >
      {hasChanged && (
        <p class="notice">
          Another operator changed this while you edited it. Make your change again, or cancel.
        </p>
      )}
      {props.children}
    </Confirm>
  );
}
