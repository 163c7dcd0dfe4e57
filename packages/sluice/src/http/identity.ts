// Identity: facts read off a request.

import type { Facts } from "../rules/facts.js";
import type { RequestView } from "./request-view.js";

/** Reads facts off requests. */
export class Identity {
  /** What the request shows at once. */
  read(view: RequestView): Facts {
    return { method: view.method, path: view.target, ip: view.peer, headers: view.headers };
  }
}
