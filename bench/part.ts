// The process that runs one part of one benchmark: `part.js memory/map all`. It reports over the
// channel to its parent and ends.

import type { Bench } from "./bench.js";
import { isQuick } from "./effort.js";

const [id = "", part] = process.argv.slice(2);
const { benches } = await loadBenches(id);
const bench = benches.find((candidate) => candidate.id === id);
if (bench === undefined || part === undefined || !bench.parts.includes(part)) {
  throw new Error(`no part ${part} of ${id}`);
}
const report = await bench.runPart(part);
// Timers of peers and observers would keep the process alive.
process.send?.(report, undefined, undefined, () => process.exit(0));

/**
 * All benchmarks, so that each runs beside the same modules: Redis clients change how fast strings are. That takes a
 * second for each part, so in quick mode, where figures are not judged, only the benchmarks of one area.
 */
function loadBenches(benchId: string): Promise<{ readonly benches: readonly Bench[] }> {
  if (!isQuick) return import("./catalogue.js");
  return import(`./areas/${benchId.split("/")[0]}.js`);
}
