// The conformance kit: everything that is promised of a store, as named cases that any test runner
// can run. It asserts by itself, waits for every answer, and moves time by its own clock only, so
// that stores in memory and stores behind a network pass the same cases.

import type { Clock } from "../base/clock.js";
import { show } from "../base/errors.js";
import { anyFunction, type OptionSite, readOptions } from "../base/shapes/code-options.js";
import {
  anyName,
  anything,
  as,
  choice,
  listOf,
  mapOf,
  object,
  required,
  type Shape,
  wholeNumber,
  withDefault,
} from "../base/shapes/shapes.js";
import type { Limit } from "../limits/limits.js";
import type { Store } from "../stores/store.js";
import { blockClaims } from "./conformance/blocks.js";
import { chargingClaims } from "./conformance/charging.js";
import type { AlgorithmName, Claim } from "./conformance/claim.js";
import { debitClaims } from "./conformance/debit.js";
import { escalationClaims } from "./conformance/escalation.js";
import { fenceClaims } from "./conformance/fence.js";
import { nameClaims } from "./conformance/names.js";
import { drawLimit } from "./conformance/random-limits.js";
import { refundClaims } from "./conformance/refunds.js";
import { requestClaims } from "./conformance/requests.js";
import { tableClaims } from "./conformance/tables.js";
import { traceClaims } from "./conformance/traces.js";
import { ManualClock } from "./manual-clock.js";

/** Options of {@link storeConformance}. */
export interface StoreConformanceOptions {
  /**
   * Makes a store that is empty and has room for 10,000 keys. A store with a time of its own has
   * to take it from `clock`. Called once for each case; the kit closes the store after it.
   */
  createStore: (clock: Clock) => Store | Promise<Store>;
  /**
   * The algorithms whose limits the store holds; default all. Cases about others are skipped, and those that hold for
   * any limit are run with limits of these.
   */
  limits?: readonly Limit["algorithm"][];
  /** What the store does not promise: the name of a case or of a group → the reason. */
  skip?: Readonly<Record<string, string>>;
  /** Random traces for each algorithm; default 300. */
  traces?: number;
  /** One number from which all randomness is drawn, to replay a failure; default 1. */
  seed?: number;
}

/** One promise of a store. */
export interface ConformanceCase {
  /** The claim, as `group: title`. */
  readonly name: string;
  /** The claim that several cases show together; it can be skipped as a whole. */
  readonly group: string;
  /** Why the case is skipped; absent if it is not. */
  readonly skipped?: string;
  /** Throws an Error that says what was expected and what was seen. */
  run(): Promise<void>;
}

const SITE: OptionSite = { name: "storeConformance", code: "SLUICE_OPTION_INVALID" };
const START_MS = Date.UTC(2024, 5, 1, 12);
const ALGORITHMS = Object.keys(drawLimit) as AlgorithmName[];

const claims: readonly Claim[] = [
  ...tableClaims,
  ...traceClaims,
  ...chargingClaims,
  ...requestClaims,
  ...blockClaims,
  ...escalationClaims,
  ...refundClaims,
  ...debitClaims,
  ...nameClaims,
  ...fenceClaims,
];

/**
 * Returns the cases that a store has to pass. A name in `skip` that is neither a case nor a group is an
 * error, so that skips don't outlive what they were about.
 *
 * @example
 * for (const { name, skipped, run } of storeConformance({ createStore: () => memoryStore() })) {
 *   it(name, { skip: skipped ?? false }, run); // of node:test
 * }
 */
export function storeConformance(options: StoreConformanceOptions): ConformanceCase[] {
  const { limits, ...given } = readOptions(SITE, OPTIONS, options);
  const settings: Settings = { ...given, algorithms: new Set(limits) };
  return claims.map((claim) => {
    const { group } = claim;
    const name = nameOf(claim);
    const skipped = settings.skip.get(name) ?? settings.skip.get(group) ?? notHeld(claim, settings);
    const run = () => runClaim(claim, settings);
    return skipped === undefined ? { name, group, run } : { name, group, skipped, run };
  });
}

/** Why a claim says nothing about a store that holds some limits only; undefined if it does. */
function notHeld({ about = [] }: Claim, { algorithms }: Settings): string | undefined {
  if (about.every((algorithm) => algorithms.has(algorithm))) return undefined;
  return `the store holds ${[...algorithms].join(" and ")} limits only`;
}

interface Settings {
  readonly createStore: StoreConformanceOptions["createStore"];
  readonly algorithms: ReadonlySet<AlgorithmName>;
  readonly skip: ReadonlyMap<string, string>;
  readonly traces: number;
  readonly seed: number;
}

/** Refuses names that are neither a case nor a group. */
const skips: Shape<ReadonlyMap<string, string>> = as(
  mapOf(anyName, anything(), {
    countMin: 0,
    countMax: 10_000,
    what: "an object of reasons by name",
  }),
  (reasons, spot) => {
    const known = new Set(claims.flatMap((claim) => [claim.group, nameOf(claim)]));
    for (const [name, reason] of reasons) {
      if (!known.has(name)) return spot.say(`names no case and no group, got ${show(name)}`);
      if (typeof reason !== "string" || reason === "") {
        return spot.say(`needs a reason for ${show(name)}, got ${show(reason)}`);
      }
    }
    return reasons as ReadonlyMap<string, string>;
  },
);

const OPTIONS = object({
  createStore: required(anyFunction),
  limits: withDefault(listOf(choice(ALGORITHMS), { countMax: 100 }), ALGORITHMS),
  skip: withDefault(skips, {}),
  traces: withDefault(wholeNumber({ min: 1, max: 1_000_000 }), 300),
  seed: withDefault(wholeNumber({ min: 0, max: Number.MAX_SAFE_INTEGER }), 1),
} satisfies Record<keyof StoreConformanceOptions, unknown>);

function nameOf({ group, title }: Claim): string {
  return `${group}: ${title}`;
}

async function runClaim(claim: Claim, settings: Settings): Promise<void> {
  const { createStore, traces, seed, algorithms } = settings;
  const clock = new ManualClock(START_MS);
  const store = await createStore(clock);
  try {
    await claim.check({ store, clock, seed, traces, algorithms });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`store conformance, "${nameOf(claim)}": ${message}`, { cause: error });
  } finally {
    await store.close();
  }
}
