// All benchmarks, in the order in which they run. docs/benchmarks.md explains the same ids; a test
// compares the two.

import { benches as abuse } from "./areas/abuse.js";
import { benches as accuracy } from "./areas/accuracy.js";
import { benches as adaptive } from "./areas/adaptive.js";
import { benches as bounded } from "./areas/bounded.js";
import { benches as client } from "./areas/client.js";
import { benches as control } from "./areas/control.js";
import { benches as dashboard } from "./areas/dashboard.js";
import { benches as http } from "./areas/http.js";
import { benches as importing } from "./areas/import.js";
import { benches as ledger } from "./areas/ledger.js";
import { benches as memory } from "./areas/memory.js";
import { benches as redis } from "./areas/redis.js";
import { benches as regions } from "./areas/regions.js";
import { benches as replay } from "./areas/replay.js";
import { benches as rules } from "./areas/rules.js";
import { benches as service } from "./areas/service.js";
import { benches as sim } from "./areas/sim.js";
import { benches as sketch } from "./areas/sketch.js";
import { benches as workers } from "./areas/workers.js";
import type { Bench } from "./bench.js";

export const benches: readonly Bench[] = [
  ...memory,
  ...bounded,
  ...sketch,
  ...accuracy,
  ...redis,
  ...regions,
  ...rules,
  ...replay,
  ...http,
  ...importing,
  ...client,
  ...service,
  ...workers,
  ...control,
  ...ledger,
  ...dashboard,
  ...adaptive,
  ...abuse,
  ...sim,
];

/** The benchmarks whose id starts with one of `names`; all if there are none. */
export function selectBenches(names: readonly string[]): readonly Bench[] {
  if (names.length === 0) return benches;
  return benches.filter(({ id }) => names.some((name) => id.startsWith(name)));
}

/** The names that no id starts with. */
export function unknownNames(names: readonly string[]): readonly string[] {
  return names.filter((name) => !benches.some(({ id }) => id.startsWith(name)));
}
