// Temporary folders of tests, benchmarks and the servers that they start. None outlives the process that made
// it, also if a test fails.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "./at-exit.js";

const kept = new Map<string, () => void>();

/** Makes a temporary folder with `name` in its name. It goes by `removeFolder`, or when this process ends. */
export function makeFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  kept.set(
    folder,
    atExit(() => remove(folder)),
  );
  return folder;
}

/** Removes a folder that `makeFolder` made. */
export function removeFolder(folder: string): void {
  remove(folder);
  kept.get(folder)?.();
  kept.delete(folder);
}

function remove(folder: string): void {
  // Again if it is not empty: a server that is being killed may have written meanwhile.
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
