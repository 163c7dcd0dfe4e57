// Request ids whose answer came too late. If such a request is sent again, the charge of the first attempt may
// answer it: that charge is then in use and must not be refunded.

import { BoundedMap } from "../../base/bounded-map.js";

/** Beyond this many the oldest is forgotten, and its charge stays. */
const IDS_MAX = 10_000;

/** The ids of requests that missed their deadline and were not sent again yet. */
export class LateIds {
  readonly #ids = new BoundedMap<string, true>(IDS_MAX);

  /** Records that the request with this id missed its deadline. */
  add(requestId: string): void {
    this.#ids.set(requestId, true);
  }

  /** Forgets an id; returns whether it was there, so not sent again since. */
  delete(requestId: string): boolean {
    return this.#ids.delete(requestId);
  }
}
