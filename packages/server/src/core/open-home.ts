// The store of the home region, as configured: another Redis, far away, that decides rules with
// `across: central` and leases budget to those with `across: leased`.

import type { Config } from "../config/config.js";
import { type OpenStore, type OpenStoreOptions, openRedis } from "./open-store.js";

/** What rules with `across: central` and `leased` have by default. */
const CARE = { onStoreFailure: "closed", timeoutMs: 1_000 } as const;

/** Opens the store of the home region; undefined if there are no regions, or this is the home region. */
export function openHome(
  { regions, store }: Pick<Config, "regions" | "store">,
  options: OpenStoreOptions,
): OpenStore | undefined {
  if (regions === undefined || regions.home === regions.self || store.kind !== "redis") {
    return undefined;
  }
  const { url } = regions.stores[regions.home];
  const opened = openRedis({ ...store, ...CARE, url }, { ...options, as: "home" });
  const toLine = (problem: string) => `home region ${regions.home}: ${problem}`;
  return {
    ...opened,
    problem: () => {
      const problem = opened.problem();
      return problem === undefined ? undefined : toLine(problem);
    },
  };
}
