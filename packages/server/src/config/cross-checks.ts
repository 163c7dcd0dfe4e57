// What sections have to say together.

import type { Reading } from "./reading.js";

/** Adds what is wrong between sections to the problems of a reading. */
export function crossCheck(_reading: Reading): void {}
