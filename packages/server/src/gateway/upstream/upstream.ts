// An upstream: several targets that can serve the same requests, and the choice among them.

import type { UpstreamConfig, UpstreamTlsConfig } from "../../config/config.js";
import { type HealthListener, Target } from "./backend.js";
import { ClientTls } from "./client-tls.js";

/** Verified by the authorities that Node comes with, and without a certificate of our own. */
const TLS_DEFAULTS: UpstreamTlsConfig = {
  caFile: undefined,
  serverName: undefined,
  certFile: undefined,
  keyFile: undefined,
  verify: true,
};

/** Chooses targets of one upstream. */
export class Upstream {
  readonly name: string;
  readonly retriesMax: number;
  readonly connectTimeoutMs: number;
  readonly responseTimeoutMs: number;
  /** Between two pieces of a body; 0 is no bound. */
  readonly idleTimeoutMs: number;
  readonly targets: readonly Target[];
  /** Undefined if no target is `https`. */
  readonly #tls: ClientTls | undefined;
  readonly #choosesLeast: boolean;
  readonly #nowMs: () => number;
  #exchange = 0;

  /**
   * @param nowMs - Monotonic time, for how long a target is ejected.
   * @param onHealth - Told of targets that are ejected or come back; of an only target never, as it is used
   * all the same.
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
    const listener = config.targets.length > 1 ? onHealth : undefined;
    this.#tls = config.targets.some((url) => url.startsWith("https:"))
      ? new ClientTls(config.tls ?? TLS_DEFAULTS, onTlsReload)
      : undefined;
    this.targets = config.targets.map((url) => new Target(url, config, listener, this.#tls));
    this.#choosesLeast = config.balance === "least-connections";
    this.#nowMs = nowMs;
  }

  /** Whether connections to a target are scarce. */
  get isCrowded(): boolean {
    return this.targets.some(({ pool }) => pool.isCrowded);
  }

  /**
   * The target for a request: the next in turn, or of those the one with the fewest requests. Targets that
   * are not well are left out, unless none is; `tried`, which failed this request already, if another is left.
   */
  choose(tried?: Target): Target {
    const { targets } = this;
    if (targets.length === 1) {
      targets[0].begin();
      return targets[0];
    }
    const nowMs = this.#nowMs();
    const chosen =
      this.#find((target) => target !== tried && target.isUsable(nowMs)) ??
      this.#find((target) => target !== tried) ??
      targets[0];
    // A second try is nobody's turn: else the target behind a failing one would get every request.
    if (tried === undefined) this.#exchange = (targets.indexOf(chosen) + 1) % targets.length;
    chosen.begin();
    return chosen;
  }

  /** Notes that a target failed a request. */
  failed(target: Target): void {
    target.failed(this.#nowMs());
  }

  /** To be called every `TICK_MS`. */
  onTick(): void {
    for (const { pool } of this.targets) pool.onTick();
  }

  /** Reads the files of certificates again now. */
  reload(): void {
    this.#tls?.reload();
  }

  /** Closes all connections, used or not. */
  close(): void {
    this.#tls?.close();
    for (const { pool } of this.targets) pool.close();
  }

  #find(isFit: (target: Target) => boolean): Target | undefined {
    const { targets } = this;
    const start = this.#exchange;
    let found: Target | undefined;
    for (let i = 0; i < targets.length; i++) {
      const target = targets[(start + i) % targets.length];
      if (!isFit(target) || (found !== undefined && target.pool.load >= found.pool.load)) continue;
      found = target;
      if (!this.#choosesLeast) break;
    }
    return found;
  }
}
