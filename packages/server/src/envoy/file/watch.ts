// Watches files and folders by looking at them every second, not by the system's notices: editors that
// rename, and mounted folders whose links change, are seen alike. What is still being written is left alone.

import { every } from "../../clock.js";
import { lookAtFiles } from "./load.js";

/** How often files are looked at by default. */
export const POLL_MS = 1_000;

/** How files are watched. */
export interface FilesWatchOptions {
  /** How they looked when they were read. */
  readonly mark: string;
  /** Called when they have changed and are at rest. */
  readonly onChange: () => Promise<void>;
  /** How often they are looked at. */
  readonly pollMs: number;
}

/** Watches until the function that it returns is called. */
export function watchFiles(
  paths: readonly string[],
  { mark, onChange, pollMs }: FilesWatchOptions,
): () => void {
  let seen = mark;
  let read = mark;
  let isLooking = false;
  const look = async () => {
    const now = await lookAtFiles(paths);
    const isAtRest = now === seen;
    seen = now;
    if (!isAtRest || now === read) return;
    read = now;
    await onChange();
  };
  return every(pollMs, () => {
    // A disk may take longer than the time between two looks.
    if (isLooking) return;
    isLooking = true;
    void look().finally(() => {
      isLooking = false;
    });
  });
}
