// What goes wrong in a scenario, or recovers.

import type { Random } from "./kernel/random.js";
import type { LinkState } from "./world/link.js";
import type { World, WorldOptions } from "./world/world.js";

/** Something that goes wrong, or recovers. */
export interface Fault {
  /** From the start of the run. */
  readonly atMs: number;
  /** What happens, for a schedule that people read: `process 3 dies`. */
  readonly what: string;
  apply(world: World): void;
}

/** A process dies, and another takes its place. */
export function dies(atMs: number, index: number): Fault {
  return { atMs, what: `process ${index} dies`, apply: (world) => world.crash(index) };
}

/** A process is replaced gracefully. */
export function isReplaced(atMs: number, index: number): Fault {
  return { atMs, what: `process ${index} is replaced`, apply: (world) => world.replace(index) };
}

/** The network becomes better or worse. */
export function network(atMs: number, what: string, changes: Partial<LinkState>): Fault {
  return { atMs, what, apply: (world) => Object.assign(world.network, changes) };
}

/** The home region's store fails, or is back with all that it had. */
export function home(atMs: number, becomes: "lost" | "back"): Fault {
  const apply = ({ server }: World) => (becomes === "lost" ? server.fail() : server.recover());
  return { atMs, what: `the home region is ${becomes}`, apply };
}

/** An operator promotes a region, on the first process of the second region. */
export function promotion(atMs: number, region: string): Fault {
  const apply = (world: World) => void world.nodes[1].promote(region);
  return { atMs, what: `${region} is promoted`, apply };
}

/** The network between one region and the home region becomes better or worse. */
export function distance(
  atMs: number,
  region: number,
  what: string,
  changes: Partial<LinkState>,
): Fault {
  const apply = (world: World) => void Object.assign(world.distances[region], changes);
  return { atMs, what: `region ${region}: ${what}`, apply };
}

/** A random fault between regions, of any kind, at any region but the first, which is home. */
export function randomDistanceFault(
  atMs: number,
  { regions, distance: usual }: WorldOptions,
  random: Random,
): Fault {
  const region = 1 + random.below(regions.length - 1);
  switch (random.below(6)) {
    case 0:
      return distance(atMs, region, "requests don't reach home", { isCutThere: true });
    case 1:
      return distance(atMs, region, "answers from home are lost", { isCutBack: true });
    case 2:
      return distance(atMs, region, "200 ms there and back", { latencyMs: 100 });
    case 3:
      return distance(atMs, region, "a tenth of the packets is lost", { loss: 0.1 });
    default:
      return distance(atMs, region, "reaches home as usual", usual);
  }
}

/** A random fault of any kind. */
export function randomFault(
  atMs: number,
  { nodes, network: usual }: WorldOptions,
  random: Random,
): Fault {
  const index = random.below(nodes);
  switch (random.below(7)) {
    case 0:
      return dies(atMs, index);
    case 1:
      return isReplaced(atMs, index);
    case 2:
      return network(atMs, "requests don't reach the store", { isCutThere: true });
    case 3:
      return network(atMs, "answers are lost", { isCutBack: true });
    case 4: {
      const latencyMs = random.between(0.1, 150);
      return network(atMs, `latency ${latencyMs.toFixed(1)} ms`, { latencyMs });
    }
    case 5:
      return network(atMs, "a tenth of the packets is lost", { loss: 0.1 });
    default:
      return network(atMs, "the network is back", usual);
  }
}
