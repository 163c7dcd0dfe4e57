// Which request is sent to the store next, when it has as much to do as it can answer in time. Callers take turns:
// one with thousands of waiting requests is served no more often than one with a single request.

/** An item that waits. */
interface Place<T> {
  readonly item: T;
  next: Place<T> | undefined;
}

/** What one caller has waiting; the first of it is served when the caller's turn comes. */
interface Queue<T> {
  readonly caller: string;
  first: Place<T>;
  last: Place<T>;
  next: Queue<T> | undefined;
}

/** Items that wait, by caller. Every operation takes constant time, however many wait. */
export class FairQueue<T> {
  readonly #byCaller = new Map<string, Queue<T>>();
  /** The caller whose turn it is, and the one whose turn comes last. */
  #first: Queue<T> | undefined;
  #last: Queue<T> | undefined;

  /** The item whose turn it is; undefined if none waits. */
  get first(): T | undefined {
    return this.#first?.first.item;
  }

  push(caller: string, item: T): void {
    const place: Place<T> = { item, next: undefined };
    const queue = this.#byCaller.get(caller);
    if (queue !== undefined) {
      queue.last.next = place;
      queue.last = place;
      return;
    }
    const added = { caller, first: place, last: place, next: undefined };
    this.#byCaller.set(caller, added);
    this.#append(added);
  }

  /** Removes the first item; its caller goes to the end. */
  shift(): void {
    const queue = this.#first;
    if (queue === undefined) return;
    this.#first = queue.next;
    queue.next = undefined;
    if (this.#first === undefined) this.#last = undefined;
    if (queue.first.next === undefined) this.#byCaller.delete(queue.caller);
    else {
      queue.first = queue.first.next;
      this.#append(queue);
    }
  }

  #append(queue: Queue<T>): void {
    if (this.#last === undefined) this.#first = queue;
    else this.#last.next = queue;
    this.#last = queue;
  }
}
