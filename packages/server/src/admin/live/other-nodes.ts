// Nodes that this control node can't ask: other control nodes of the same database, and their followers. A page says that
// they are not in its numbers. They are read from the database every few seconds, while a page is open.

import { readMs } from "../../base/clock.js";
import type { AdminControl } from "../service-control.js";
import type { LiveElsewhere } from "./live-event.js";
import { NAMED_MAX } from "./live-event.js";

const READ_MS = 5_000;

/** Knows which nodes are shown elsewhere. */
export class OtherNodes {
  readonly #control: Pick<AdminControl, "nodes" | "nodeName" | "feed">;
  #readMs = Number.NEGATIVE_INFINITY;
  #elsewhere: LiveElsewhere | null = null;

  constructor(control: Pick<AdminControl, "nodes" | "nodeName" | "feed">) {
    this.#control = control;
  }

  /** As of some seconds ago; null if there are none. */
  get elsewhere(): LiveElsewhere | null {
    return this.#elsewhere;
  }

  /** Reads again, if it was long ago. Never rejects: while the database is unavailable, what was known stays. */
  async look(): Promise<void> {
    const { nodes, feed } = this.#control;
    if (nodes === undefined || feed === undefined || readMs() - this.#readMs < READ_MS) return;
    this.#readMs = readMs();
    try {
      await this.#read();
    } catch {
      // The notices say that the database is unavailable.
    }
  }

  async #read(): Promise<void> {
    const nodeName = this.#control.nodeName?.();
    const all = (await this.#control.nodes?.()) ?? [];
    const others = all.filter(({ via, isAway }) => via !== nodeName && !isAway);
    const via = [...new Set(others.map((each) => each.via))].slice(0, NAMED_MAX);
    this.#elsewhere = others.length === 0 ? null : { nodes: others.length, via };
  }
}
