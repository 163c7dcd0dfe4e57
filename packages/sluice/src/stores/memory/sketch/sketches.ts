// The sketches of one memory store, each found by the name of its counter. Limits of one name share a sketch where only
// the number of units differs, so that tiers and changed limits see what was used. Otherwise the new sketch reads the
// one before it until the window ends.

import type { SketchLimit } from "../../../limits/limits.js";
import { SketchCounts, type SketchFigures } from "./sketch-counts.js";

/** Whose sketch it is. */
export interface SketchName {
  readonly scope: string;
  readonly part: number;
}

/** Figures of one sketch, and whose it is. */
export interface SketchStats extends SketchName, SketchFigures {}

interface NamedCounts {
  readonly name: SketchName;
  readonly counts: SketchCounts;
  /** How many limits use it. */
  users: number;
}

export class Sketches {
  /** The latest of each name. */
  readonly #byName = new Map<string, NamedCounts>();
  readonly #all = new Map<SketchCounts, NamedCounts>();

  get stats(): readonly SketchStats[] {
    return [...this.#all.values()].map(({ name, counts }) => ({ ...name, ...counts.figures }));
  }

  /** The counts of a limit. Each call has to be followed by a {@link leave}. */
  join(name: SketchName, limit: SketchLimit): SketchCounts {
    const latest = this.#byName.get(keyOf(name));
    const known = latest !== undefined && isAlike(latest.counts.limit, limit) ? latest : undefined;
    const named = known ?? {
      name,
      counts: new SketchCounts(limit, latest?.counts),
      users: 0,
    };
    named.users++;
    this.#byName.set(keyOf(name), named);
    this.#all.set(named.counts, named);
    return named.counts;
  }

  /** Whether no other counts of its name were made since. */
  isLatest(counts: SketchCounts): boolean {
    const named = this.#all.get(counts);
    return named !== undefined && this.#byName.get(keyOf(named.name)) === named;
  }

  /** Lets go of the counts when no limit uses them any more. */
  leave(counts: SketchCounts): void {
    const named = this.#all.get(counts);
    if (named === undefined || --named.users > 0) return;
    this.#all.delete(counts);
    const key = keyOf(named.name);
    if (this.#byName.get(key) === named) this.#byName.delete(key);
  }
}

function keyOf({ scope, part }: SketchName): string {
  return JSON.stringify([scope, part]);
}

/** Whether what was counted under one limit can be read under the other. */
function isAlike(a: SketchLimit, b: SketchLimit): boolean {
  return (
    a.windowMs === b.windowMs &&
    a.cellBits === b.cellBits &&
    a.errorShare === b.errorShare &&
    a.confidence === b.confidence &&
    a.exactKeysMax === b.exactKeysMax
  );
}
