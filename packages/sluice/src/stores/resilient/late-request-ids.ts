// Request ids whose answer was not waited for. Sent again, such a request may be answered out of the
// charge that its first sending made: that charge is then in use and must not be given back.

import { BoundedMap } from "../../base/bounded-map.js";

/** Beyond so many the oldest is forgotten, and its charge stays. */
const IDS_MAX = 10_000;

/** The ids of requests that were given up and not yet sent again. */
export class LateIds {
  readonly #ids = new BoundedMap<string, true>(IDS_MAX);

  /** A request of this id is given up. */
  add(requestId: string): void {
    this.#ids.set(requestId, true);
  }

  /** Forgets an id; whether it was there: given up, and not sent again since. */
  delete(requestId: string): boolean {
    return this.#ids.delete(requestId);
  }
}
