// What is still to happen in a simulation, in the order of time. Of two events at one instant the one that was planned
// first comes first, so that a run has exactly one order.

/** Something that happens at an instant. */
export interface SimulatedEvent {
  readonly atMs: number;
  readonly order: number;
  /** Whether code that waits for this event has to go on before the next one. */
  readonly isAwaited: boolean;
  /** Undefined once it is cancelled. */
  task: (() => void) | undefined;
}

/** A binary heap of events. */
export class EventQueue {
  readonly #heap: SimulatedEvent[] = [];

  /** When the next event is due; infinity if there is none. */
  get nextMs(): number {
    return this.#heap.length === 0 ? Number.POSITIVE_INFINITY : this.#heap[0].atMs;
  }

  add(event: SimulatedEvent): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent])) break;
      heap[at] = heap[parent];
      at = parent;
    }
    heap[at] = event;
  }

  /** Removes the earliest event; there must be one. */
  take(): SimulatedEvent {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop() as SimulatedEvent;
    if (heap.length > 0) this.#sink(last);
    return first;
  }

  #sink(event: SimulatedEvent): void {
    const heap = this.#heap;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], event)) break;
      heap[at] = heap[child];
      at = child;
    }
    heap[at] = event;
  }
}

function isBefore(a: SimulatedEvent, b: SimulatedEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
