// Retries that are still to come, earliest first: a binary heap.

/** What happens at a time. */
export interface Timed {
  readonly atMs: number;
}

/** Events by time; of several at one instant the one that was added first comes first. */
export class EventQueue<E extends Timed> {
  readonly #heap: { readonly event: E; readonly order: number }[] = [];
  #added = 0;

  add(event: E): void {
    const heap = this.#heap;
    heap.push({ event, order: this.#added++ });
    let at = heap.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Removes events up to that time and passes each on; those that are added meanwhile count too. */
  takeUntil(untilMs: number, take: (event: E) => void): void {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined || first.event.atMs > untilMs) return;
      this.#removeFirst();
      take(first.event);
    }
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      if (left >= heap.length) return;
      const right = left + 1;
      const child = right < heap.length && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, at)) return;
      this.#swap(child, at);
      at = child;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a], this.#heap[b]];
    if (one === undefined || other === undefined) return false;
    return one.event.atMs === other.event.atMs
      ? one.order < other.order
      : one.event.atMs < other.event.atMs;
  }

  #swap(a: number, b: number): void {
    const heap = this.#heap;
    [heap[a], heap[b]] = [heap[b] as (typeof heap)[0], heap[a] as (typeof heap)[0]];
  }
}
