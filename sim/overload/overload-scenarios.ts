// What happens to the overloaded backend: each scenario has three phases of equal length, and changes the backend in the
// second one.

import type { BackendOptions } from "./backend-model.js";

/** The backend while nothing is wrong: 1,600 requests a second. */
export const FULL_BACKEND: BackendOptions = { workers: 32, serviceMs: 20, variation: 1 };

/** How long each phase lasts. */
export const LENGTH_MS = 20_000;

/** One way in which a backend can get slower. */
export interface OverloadScenario {
  readonly name: string;
  /** What happens, as a heading of a table. */
  readonly about: string;
  /** What changes in the second phase. */
  readonly change: Partial<Pick<BackendOptions, "workers" | "serviceMs">>;
  /** Pauses, in all phases. */
  readonly pauses?: BackendOptions["pauses"];
}

export const overloadScenarios: readonly OverloadScenario[] = [
  { name: "steady", about: "nothing changes", change: {} },
  { name: "half", about: "half of the workers are gone", change: { workers: 16 } },
  { name: "slow", about: "every request takes twice as long", change: { serviceMs: 40 } },
  {
    name: "pauses",
    about: "pauses of 150 ms every 2 seconds, and half of the workers are gone",
    change: { workers: 16 },
    pauses: { everyMs: 2_000, lastMs: 150 },
  },
];
