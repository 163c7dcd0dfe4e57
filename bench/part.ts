// The process that runs one part of one benchmark: `part.js memory/map all`. It reports over the
// channel to its parent and ends.

import { benches } from "./catalogue.js";

const [id, part] = process.argv.slice(2);
const bench = benches.find((candidate) => candidate.id === id);
if (bench === undefined || part === undefined || !bench.parts.includes(part)) {
  throw new Error(`no part ${part} of ${id}`);
}
const report = await bench.runPart(part);
// Timers of peers and observers would keep the process alive.
process.send?.(report, undefined, undefined, () => process.exit(0));
