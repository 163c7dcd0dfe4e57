// The options and the statistics of merged counts.

import type { Clock } from "../../../base/clock.js";
import { readOptions } from "../../../base/shapes/code-options.js";
import {
  anything,
  object,
  optional,
  required,
  wholeNumber,
  withDefault,
} from "../../../base/shapes/shapes.js";
import type { Store } from "../../store.js";
import type { PeerStats } from "./peer-region.js";

/** Options of {@link merged}. */
export interface MergedOptions {
  /** The region of this process. */
  region: string;
  /** The stores of the other regions, by name. */
  peers: ReadonlyMap<string, Store>;
  /** The store of the own region, behind what decides in front of it. Default: the store that decides. */
  own?: Store;
  /** How often counts are announced at most, in milliseconds from 10 to 60,000; default 100. */
  syncMs?: number;
  /** How many processes a region has, which share what is left of a limit. Default 4. */
  nodes?: number;
  /** The most keys known in this process at the same time; default 100,000. */
  keysMax?: number;
  /** Default: monotonic time. */
  clock?: Clock;
}

/** Statistics of a merged store. */
export interface MergedStats {
  /** One for each other region. */
  readonly peers: readonly PeerStats[];
  /** Keys known in this process. */
  readonly keys: number;
  /** Units never announced: their key had to make room for others. */
  readonly unitsEvicted: number;
}

/** Where errors say that they come from. */
export const SITE = { name: "merged", code: "SLUICE_OPTION_INVALID" } as const;
const KEYS_MAX = 10_000_000;
const NODES_MAX = 1_000_000;
const OPTIONS = object({
  region: required(anything()),
  peers: required(anything()),
  own: optional(anything()),
  syncMs: withDefault(wholeNumber({ min: 10, max: 60_000 }), 100),
  nodes: withDefault(wholeNumber({ min: 1, max: NODES_MAX }), 4),
  keysMax: withDefault(wholeNumber({ min: 1, max: KEYS_MAX }), 100_000),
  clock: optional(anything()),
} satisfies Record<keyof MergedOptions, unknown>);

/** The options that have defaults, validated and filled in. */
export function toMergedSettings(options: MergedOptions): {
  readonly syncMs: number;
  readonly nodes: number;
  readonly keysMax: number;
  readonly clock?: unknown;
} {
  return readOptions(SITE, OPTIONS, options);
}
