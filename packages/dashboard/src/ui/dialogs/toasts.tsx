// Short notes about what was done or what failed, at the edge of the page. A screen reader reads them.

import { useEffect, useState } from "preact/hooks";
import { after } from "../../base/clock.js";
import { Button } from "../forms/button.js";

interface Toast {
  readonly id: number;
  readonly kind: "done" | "failed";
  readonly text: string;
}

const TOASTS_MAX = 4;
const DONE_MS = 6_000;

let latestId = 0;
let show = (_toast: Toast) => {};

/** Says that something was done. */
export function done(text: string): void {
  show({ id: ++latestId, kind: "done", text });
}

/** Says what failed; it stays until it is closed. */
export function report(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  show({ id: ++latestId, kind: "failed", text });
}

/** The place where notes appear. */
export function Toasts() {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const remove = (id: number) => setToasts((old) => old.filter((toast) => toast.id !== id));
  useEffect(() => {
    show = (toast) => {
      setToasts((old) => [...old, toast].slice(-TOASTS_MAX));
      if (toast.kind === "done") after(DONE_MS, () => remove(toast.id));
    };
    return () => {
      show = () => {};
    };
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map(({ id, kind, text }) => (
        <div key={id} class={`toast ${kind}`}>
          <span>{text}</span>
          <Button kind="quiet" label="Close this note" onClick={() => remove(id)}>
            ✕
          </Button>
        </div>
      ))}
    </div>
  );
}
