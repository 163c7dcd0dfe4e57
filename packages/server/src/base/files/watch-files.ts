// Watches files by polling, not by notifications of the operating system, so that editors that rename and mounted folders
// whose links change are noticed too. A file that is still being written is left for the next poll: a change counts when
// it stays the same from one poll to the next.

import { type Stats, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { type CancelTimer, every } from "../clock.js";

/** How often files are polled by default. */
export const POLL_MS = 1_000;

/** How files are watched. */
export interface WatchFilesOptions {
  /** The state of the files when they were read. Default: their state now. */
  readonly mark?: string;
  /** How often they are polled, in milliseconds; default 1,000. */
  readonly pollMs?: number;
  /** Called when they have changed and are at rest, one call after the other. Never throws or rejects. */
  readonly onChange: () => void | Promise<void>;
}

/** Watches until the returned function is called. `look` returns the state of the files, and never rejects. */
export function watchFiles(
  look: () => Promise<string>,
  { mark, pollMs = POLL_MS, onChange }: WatchFilesOptions,
): CancelTimer {
  let latest = mark;
  let taken = mark;
  let isLooking = false;
  let isStopped = false;
  const lookOnce = async () => {
    const now = await look();
    taken ??= now;
    const isAtRest = now === latest;
    latest = now;
    if (isStopped || !isAtRest || now === taken) return;
    taken = now;
    await onChange();
  };
  const poll = () => {
    // A disk may take longer than the time between two polls.
    if (isLooking) return;
    isLooking = true;
    void lookOnce().finally(() => {
      isLooking = false;
    });
  };
  if (mark === undefined) poll();
  const stopPolling = every(pollMs, poll);
  return () => {
    isStopped = true;
    stopPolling();
  };
}

/** A string that changes when a file does: which file it is, its length, when it was written, whether it exists. */
export async function lookAt(files: readonly string[]): Promise<string> {
  return (await Promise.all(files.map(lookAtOne))).join("\n");
}

/** The same, synchronously, for files that are about to be read: any change from then on is noticed. */
export function lookAtNow(files: readonly string[]): string {
  return files.map(lookAtOneNow).join("\n");
}

function lookAtOne(file: string): Promise<string> {
  return stat(file).then(
    (found) => toMark(file, found),
    (error) => toMarkOfNone(file, error),
  );
}

function lookAtOneNow(file: string): string {
  try {
    return toMark(file, statSync(file));
  } catch (error) {
    return toMarkOfNone(file, error);
  }
}

function toMark(file: string, { dev, ino, size, mtimeMs }: Stats): string {
  return `${file}:${dev}/${ino}/${size}/${mtimeMs}`;
}

function toMarkOfNone(file: string, error: unknown): string {
  return `${file}: ${(error as Error).message}`;
}
