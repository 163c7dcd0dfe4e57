// Buttons.

import type { ComponentChildren } from "preact";

interface ButtonProps {
  readonly children: ComponentChildren;
  /** `primary` is what the page is for, `danger` what can't be undone easily, `quiet` everything beside. */
  readonly kind?: "primary" | "danger" | "plain" | "quiet";
  readonly type?: "button" | "submit";
  readonly isDisabled?: boolean;
  /** Whether what it does is under way. */
  readonly isBusy?: boolean;
  /** What it does, where its text does not say it. */
  readonly label?: string;
  /** Whether what it opens or switches is on. */
  readonly isPressed?: boolean;
  /** Whether the page ends with it, so that unsaved changes are asked about first. */
  readonly isLeaving?: boolean;
  readonly onClick?: () => void;
}

/** A button. */
export function Button(props: ButtonProps) {
  const { children, kind = "plain", type = "button", isBusy = false, isDisabled = false } = props;
  return (
    <button
      type={type}
      class={`button ${kind}`}
      disabled={isDisabled || isBusy}
      aria-busy={isBusy}
      aria-label={props.label}
      aria-pressed={props.isPressed}
      data-leaves={props.isLeaving === true ? "" : undefined}
      onClick={props.onClick}
    >
      {children}
    </button>
  );
}
