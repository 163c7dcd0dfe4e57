// Reading a large file of rules leaves a hundred times its size to the garbage collector, and that in the part of
// the heap that V8 looks at only when the heap has grown a lot further. A service that allocates little from then on
// would keep it for hours, so it is collected once the rules are in force (bench service/rules-bytes).

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { after, type CancelTimer } from "../clock.js";

/** Files that are shorter leave little. */
const TEXT_LENGTH_MIN = 100_000;
/** A start or a reload is over by then. */
const DELAY_MS = 2_000;

let pending: CancelTimer | undefined;

/** Collects garbage in a moment, if a text was read that is large enough to leave much of it. */
export function collectAfterReading(text: string, delayMs = DELAY_MS): void {
  if (text.length < TEXT_LENGTH_MIN) return;
  pending?.();
  pending = after(delayMs, () => {
    pending = undefined;
    collect();
  });
}

/** Stops the process for as long as V8 takes to mark what is alive: some tens of milliseconds. */
function collect(): void {
  // The function exists only in contexts that are made while the flag is set.
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  setFlagsFromString("--no-expose-gc");
}
