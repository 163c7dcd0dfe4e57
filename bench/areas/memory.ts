// The benchmarks of memory, in the order in which they run.

import type { Bench } from "../bench.js";
import { adversarial } from "../memory/adversarial.js";
import { algorithms } from "../memory/algorithms.js";
import { bytesBucket, bytesSliding } from "../memory/bytes.js";
import { churn } from "../memory/churn.js";
import { floor } from "../memory/floor.js";
import { heap } from "../memory/heap.js";
import { pause } from "../memory/pause.js";
import { fewKeys, overExpress, overFlexible, overMap } from "../memory/speed.js";

export const benches: readonly Bench[] = [
  overMap,
  fewKeys,
  overFlexible,
  overExpress,
  churn,
  bytesBucket,
  bytesSliding,
  heap,
  pause,
  adversarial,
  algorithms,
  floor,
];
