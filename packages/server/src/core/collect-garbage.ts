// Reading a large file of rules leaves a hundred times its size as garbage, in the old generation, which V8 collects
// only when the heap has grown a lot further. A service that allocates little from then on would keep it for hours,
// so it is collected once the rules are in force (bench service/rules-bytes).

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { after, type CancelTimer } from "../base/clock.js";

/** In characters. Shorter files leave little garbage. */
const TEXT_LENGTH_MIN = 100_000;
/** A start or a reload is over by then. */
const DELAY_MS = 2_000;

let pending: CancelTimer | undefined;

/** Runs the garbage collector after a moment, if the text that was read is large enough to leave much garbage. */
export function collectAfterReading(text: string, delayMs = DELAY_MS): void {
  if (text.length < TEXT_LENGTH_MIN) return;
  pending?.();
  pending = after(delayMs, () => {
    pending = undefined;
    collect();
  });
}

/** Blocks the process while V8 marks what is alive: some tens of milliseconds. */
function collect(): void {
  // `gc` exists only in contexts that are made while the flag is set.
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  setFlagsFromString("--no-expose-gc");
}
