// Connections that arrive together. The event loop accepts one connection in each turn, and in the same turn serves every
// request that has arrived. If the first connections of a burst were served while others are still queued in the kernel,
// each of those would wait for one more request of every connection before it. So all are accepted first, and read from
// only when a turn brings no further one (bench service/ramp).

import type { Socket } from "node:net";
import { atEndOfTurn, readMs } from "../clock.js";

/** The longest time that a connection waits for others. */
export const ARRIVAL_MS_MAX = 250;

/** Collects connections until no more arrive. */
export class Arrivals {
  readonly #serve: (socket: Socket) => void;
  #waiting: Socket[] = [];
  /** When the first of them arrived. */
  #sinceMs = 0;
  #hasNew = false;
  readonly #look = () => {
    if (this.#hasNew && readMs() - this.#sinceMs < ARRIVAL_MS_MAX) {
      this.#hasNew = false;
      atEndOfTurn(this.#look);
      return;
    }
    const served = this.#waiting;
    this.#waiting = [];
    for (const socket of served) this.#serve(socket);
  };

  /** @param serve - Called with the connections in order of arrival, including those that have closed since. */
  constructor(serve: (socket: Socket) => void) {
    this.#serve = serve;
  }

  /** A connection was accepted, and is not read from yet. */
  add(socket: Socket): void {
    this.#hasNew = true;
    if (this.#waiting.push(socket) > 1) return;
    this.#sinceMs = readMs();
    atEndOfTurn(this.#look);
  }
}
