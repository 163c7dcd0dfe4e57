// An upstream: several backends that can serve the same requests, and the choice among them.

import type { UpstreamConfig, UpstreamTlsConfig } from "../../config/config.js";
import { Backend, type HealthListener } from "./backend.js";
import { ClientTls } from "./client-tls.js";

/** Verified by the authorities that Node comes with, and without a certificate of our own. */
const TLS_DEFAULTS: UpstreamTlsConfig = {
  caFile: undefined,
  serverName: undefined,
  certFile: undefined,
  keyFile: undefined,
  verify: true,
};

/** Chooses a backend for each request. */
export class Upstream {
  readonly name: string;
  readonly retriesMax: number;
  readonly connectTimeoutMs: number;
  readonly responseTimeoutMs: number;
  /** Between two pieces of a body; 0 means no limit. */
  readonly idleTimeoutMs: number;
  readonly backends: readonly Backend[];
  /** Undefined if no backend is `https`. */
  readonly #tls: ClientTls | undefined;
  readonly #choosesLeast: boolean;
  readonly #nowMs: () => number;
  /** The backend whose turn is next, in round-robin order. */
  #next = 0;

  /**
   * @param nowMs - Monotonic time, for how long a backend is ejected.
   * @param onHealth - Called when a backend is ejected or returns. Not called if there is only one backend, which is
   * always used.
   * @param onTlsReload - Certificates were read again; with an error those from before stay.
   * @throws ServerError if a file of `config.tls` can't be used.
   */
  constructor(
    config: UpstreamConfig,
    nowMs: () => number,
    onHealth?: HealthListener,
    onTlsReload?: (error?: unknown) => void,
  ) {
    this.name = config.name;
    this.retriesMax = config.retriesMax;
    this.connectTimeoutMs = config.connectTimeoutMs;
    this.responseTimeoutMs = config.responseTimeoutMs;
    this.idleTimeoutMs = config.idleTimeoutMs;
    const listener = config.backends.length > 1 ? onHealth : undefined;
    this.#tls = config.backends.some((url) => url.startsWith("https:"))
      ? new ClientTls(config.tls ?? TLS_DEFAULTS, onTlsReload)
      : undefined;
    this.backends = config.backends.map((url) => new Backend(url, config, listener, this.#tls));
    this.#choosesLeast = config.balance === "least-connections";
    this.#nowMs = nowMs;
  }

  /** Whether connections to a backend are scarce. */
  get isCrowded(): boolean {
    return this.backends.some(({ pool }) => pool.isCrowded);
  }

  /**
   * Chooses the backend for a request: the next in turn, or the one with the fewest requests under way. Ejected backends
   * are skipped unless all are ejected, and so is `tried`, which already failed this request, if there is another.
   */
  choose(tried?: Backend): Backend {
    const { backends } = this;
    if (backends.length === 1) {
      backends[0].begin();
      return backends[0];
    }
    const nowMs = this.#nowMs();
    const chosen =
      this.#find((backend) => backend !== tried && backend.isUsable(nowMs)) ??
      this.#find((backend) => backend !== tried) ??
      backends[0];
    // A retry does not advance the turn: otherwise the backend behind a failing one would get every request.
    if (tried === undefined) this.#next = (backends.indexOf(chosen) + 1) % backends.length;
    chosen.begin();
    return chosen;
  }

  /** Records that a backend failed a request. */
  failed(backend: Backend): void {
    backend.failed(this.#nowMs());
  }

  /** Call it every `TICK_MS`. */
  onTick(): void {
    for (const { pool } of this.backends) pool.onTick();
  }

  /** Reads the files of certificates again now. */
  reload(): void {
    this.#tls?.reload();
  }

  /** Closes all connections, used or not. */
  close(): void {
    this.#tls?.close();
    for (const { pool } of this.backends) pool.close();
  }

  #find(isFit: (backend: Backend) => boolean): Backend | undefined {
    const { backends } = this;
    const start = this.#next;
    let found: Backend | undefined;
    for (let i = 0; i < backends.length; i++) {
      const backend = backends[(start + i) % backends.length];
      if (!isFit(backend) || (found !== undefined && backend.pool.load >= found.pool.load))
        continue;
      found = backend;
      if (!this.#choosesLeast) break;
    }
    return found;
  }
}
