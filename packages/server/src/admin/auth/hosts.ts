// Under which names the admin port may be used by a browser. A page of elsewhere can point its own name at this
// machine, but not an address or `localhost`, and not a name that the operator owns.

import { isLocalHost } from "../../base/http/web-page.js";

/** Addresses, `localhost`, and the names in `admin.hosts`. */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>;

  /** @param names - Without ports. */
  constructor(names: readonly string[]) {
    this.#names = new Set(names.map((name) => name.toLowerCase()));
  }

  /** Whether a Host header is one of them. */
  has(host: string | undefined): boolean {
    return isLocalHost(host) || this.#names.has((host ?? "").replace(/:\d*$/, "").toLowerCase());
  }

  /** Whether a page of that origin was served from this port, or by the proxy of a name in `admin.hosts`. */
  isOrigin(origin: string, host: string | undefined): boolean {
    if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false;
    const url = new URL(origin);
    return origin.replace(/^https?:\/\//, "") === host || this.#names.has(url.hostname);
  }
}
