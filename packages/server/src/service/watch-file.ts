// Watches a file by looking at it, not by the system's notices: editors that rename, and mounted directories
// whose links change, are seen alike.

import { statSync } from "node:fs";
import { type CancelTimer, every } from "../clock.js";

/** Options of {@link watchFile}. */
export interface WatchFileOptions {
  /** How often it is looked at; default 1,000. */
  readonly pollMs?: number;
  /** Called when the file has changed and has not changed again between two looks. */
  readonly onChange: () => void;
}

/** Watches a file until the function that it returns is called. One that is gone has changed when it is back. */
export function watchFile(
  file: string,
  { pollMs = 1_000, onChange }: WatchFileOptions,
): CancelTimer {
  let taken = look(file);
  let latest = taken;
  return every(pollMs, () => {
    const mark = look(file);
    const isAtRest = mark === latest;
    latest = mark;
    if (mark === undefined) taken = undefined;
    if (!isAtRest || mark === undefined || mark === taken) return;
    taken = mark;
    onChange();
  });
}

/** What changes when the file does: which one it is, its length, when it was written. */
function look(file: string): string | undefined {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats && `${stats.dev}/${stats.ino}/${stats.size}/${stats.mtimeMs}`;
}
