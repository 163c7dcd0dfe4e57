// The sketch that is measured: its size, its speed and its wrong refusals are of the same one.

import { effort } from "../effort.js";

/** The error that it declares. In quick mode there are a hundredth of the keys. */
export const SKETCH = effort({
  full: { errorShare: 1.6e-6, confidence: 0.95, exactKeysMax: 100_000 },
  quick: { errorShare: 1.6e-4, confidence: 0.95, exactKeysMax: 1_000 },
});
