// The stores of the home region and of its standby, as configured: other Redis servers, far away, of which one decides
// rules with `across: central` and leases budget to those with `across: leased`.

import type { HomeControl } from "sluice/rules";
import type { Config } from "../config/config.js";
import { type OpenStore, type OpenStoreOptions, openRedis } from "./open-store.js";

/** What rules with `across: central` and `leased` have by default. */
const CARE = { onStoreFailure: "closed", timeoutMs: 1_000 } as const;

type HomeConfig = Pick<Config, "regions" | "store">;

/** Opens the store of the home region; undefined if there are no regions, or this is the home region. */
export function openHome(config: HomeConfig, options: OpenStoreOptions): OpenStore | undefined {
  return openFar(config, config.regions?.home, "home region", options);
}

/** Opens the store of the region that may take over; undefined if there is none, or this is that region. */
export function openStandby(config: HomeConfig, options: OpenStoreOptions): OpenStore | undefined {
  return openFar(config, config.regions?.standby, "standby region", options);
}

function openFar(
  { regions, store }: HomeConfig,
  name: string | undefined,
  what: string,
  options: OpenStoreOptions,
): OpenStore | undefined {
  if (regions === undefined || name === undefined || name === regions.self) return undefined;
  if (store.kind !== "redis") return undefined;
  const { url } = regions.stores[name];
  const opened = openRedis({ ...store, ...CARE, url }, { ...options, as: "home" });
  const toLine = (problem: string) => `${what} ${name}: ${problem}`;
  return {
    ...opened,
    problem: () => {
      const problem = opened.problem();
      return problem === undefined ? undefined : toLine(problem);
    },
  };
}

/** What decides home's rules: the stores of both regions, and who of them is home. */
export interface HomeParts {
  readonly home: OpenStore | undefined;
  readonly standby: OpenStore | undefined;
  readonly homeRegion: HomeControl | undefined;
}

/** What is wrong with the home region; undefined if there is nothing far away that could be. */
export function homeReachOf(parts: HomeParts): Pick<OpenStore, "name" | "problem"> | undefined {
  const { home, standby, homeRegion } = parts;
  const first = home ?? standby;
  if (first === undefined) return undefined;
  const problem = () => {
    const all = [home?.problem(), standby?.problem(), homeRegion && homeProblem(homeRegion)];
    const seen = all.filter((each) => each !== undefined);
    return seen.length === 0 ? undefined : seen.join("; ");
  };
  return { name: first.name, problem };
}

function homeProblem({ stats }: HomeControl): string | undefined {
  if (stats === undefined) return "home region: it is not known which region is home";
  const { home, epoch, isOpen, isContested, ageMs } = stats;
  const line = `home region ${home} (epoch ${epoch})`;
  if (isContested) return `${line}: another region claims the same epoch; promote one of them`;
  if (isOpen) return undefined;
  if (ageMs < 0 && Number.isFinite(ageMs)) {
    return `${line}: opens in ${Math.ceil(-ageMs / 1_000)} s, when leases of the old one are over`;
  }
  return `${line}: it has no permission to decide, so onStoreFailure answers`;
}
