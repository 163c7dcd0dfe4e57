// Requests of one route that wait to be sent: by priority, retries before others, and otherwise first come, first served.

import { PRIORITIES, type Priority } from "../../adaptive/priority.js";
import { LinkedList, NO_PLACE } from "../../base/linked-list.js";

/** A request that waits. */
export interface WaitingRequest {
  readonly priority: Priority;
  readonly isRetry: boolean;
  /** In the order of arrival. */
  readonly order: number;
  /** From then on pacing no longer delays it; a quota that is used up still does. */
  readonly pacedUntilMs: number;
  /** It may be sent. */
  readonly admit: () => void;
  /** It won't be sent. */
  readonly refuse: (error: unknown) => void;
}

/** The requests of one route that wait. */
export class WaitingLine {
  /** Two for each priority: retries, then others. */
  readonly #lists: readonly LinkedList<WaitingRequest>[] = PRIORITIES.flatMap(() => [
    new LinkedList<WaitingRequest>(),
    new LinkedList<WaitingRequest>(),
  ]);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The next to be sent; undefined if none waits. */
  get first(): WaitingRequest | undefined {
    for (const list of this.#lists) if (list.size > 0) return list.at(list.oldest);
    return undefined;
  }

  /** The least important, and of those the newest; undefined if none waits. */
  get last(): WaitingRequest | undefined {
    for (let i = this.#lists.length - 1; i >= 0; i--) {
      const list = this.#lists[i] as LinkedList<WaitingRequest>;
      if (list.newest !== NO_PLACE) return list.at(list.newest);
    }
    return undefined;
  }

  /** Adds a request. Returns a function that removes it, once. */
  add(request: WaitingRequest): () => void {
    const list = this.#lists[indexOf(request)] as LinkedList<WaitingRequest>;
    const place = list.add(request);
    this.#size++;
    let isThere = true;
    return () => {
      if (!isThere) return;
      isThere = false;
      list.remove(place);
      this.#size--;
    };
  }
}

/** Whether one request goes before another. */
export function goesBefore(one: WaitingRequest, other: WaitingRequest): boolean {
  const difference = indexOf(one) - indexOf(other);
  return difference === 0 ? one.order < other.order : difference < 0;
}

function indexOf({ priority, isRetry }: WaitingRequest): number {
  return 2 * PRIORITIES.indexOf(priority) + (isRetry ? 0 : 1);
}
