// A store as another process sees it. Within one process a limiter's name stands for one set of numbers; limiters
// of several processes share nothing but the counters.

import { ForwardingStore } from "../stores/forwarding-store.js";
import type { Store } from "../stores/store.js";

/** The same counters behind another object, so that a limiter over it claims no name of this process. */
export function asAnotherProcess<S extends Store>(store: S): S {
  // It has every verb of a store, and answers as the store does: immediately, or with a promise.
  return new ForwardingStore(store) as Store as S;
}
