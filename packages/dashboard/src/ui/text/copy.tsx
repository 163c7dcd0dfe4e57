// A button that copies.

import { useState } from "preact/hooks";
import { after } from "../../base/clock.js";
import { report } from "../dialogs/toasts.js";
import { Button } from "../forms/button.js";

const SAID_MS = 2_000;

/** Copies a string to the clipboard, and says so. */
export function CopyButton({ value, name = "Copy" }: { value: string; name?: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = () => {
    navigator.clipboard.writeText(value).then(() => {
      setIsCopied(true);
      after(SAID_MS, () => setIsCopied(false));
    }, report);
  };
  return <Button onClick={copy}>{isCopied ? "Copied" : name}</Button>;
}
