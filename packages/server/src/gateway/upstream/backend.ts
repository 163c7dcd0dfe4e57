// One backend of an upstream: its connections and its health. Health is passive: a backend that fails several
// times in a row is ejected for a while, then gets one request that tests it.

import type { UpstreamConfig } from "../../config/config.js";
import type { ClientTls } from "./client-tls.js";
import { Pool } from "./connection-pool.js";

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Called when a backend is ejected, and when it answers again. */
export type HealthListener = (outcome: "ejected" | "returned", authority: string) => void;

/** One server of an upstream. */
export class Backend {
  /** Host and port, as in a Host header. */
  readonly authority: string;
  readonly host: string;
  readonly port: number;
  readonly pool: Pool;
  readonly #failuresMax: number;
  readonly #ejectMs: number;
  readonly #onHealth: HealthListener | undefined;
  #failures = 0;
  #ejectedUntilMs = 0;
  #isOnTrial = false;

  /**
   * @param url - `http://host:port` or `https://host:port`.
   * @param tls - For `https`.
   */
  constructor(url: string, config: UpstreamConfig, onHealth?: HealthListener, tls?: ClientTls) {
    const { host, hostname, port, protocol } = new URL(url);
    this.authority = host;
    // Brackets belong to URLs, not to addresses.
    this.host = hostname.replace(/^\[|\]$/g, "");
    this.port = port === "" ? DEFAULT_PORTS[protocol] : Number(port);
    this.pool = new Pool(this.host, this.port, config, protocol === "https:" ? tls : undefined);
    this.#failuresMax = config.failuresMax;
    this.#ejectMs = config.ejectMs;
    this.#onHealth = onHealth;
  }

  /** Whether requests may go to it: it is not ejected, or may be tried again. */
  isUsable(nowMs: number): boolean {
    if (this.#failures < this.#failuresMax) return true;
    return !this.#isOnTrial && nowMs >= this.#ejectedUntilMs;
  }

  /** A request is sent to it. Call {@link succeeded}, {@link failed} or {@link ended} afterwards. */
  begin(): void {
    if (this.#failures >= this.#failuresMax) this.#isOnTrial = true;
  }

  /** It answered. */
  succeeded(): void {
    const wasEjected = this.#failures >= this.#failuresMax;
    this.#failures = 0;
    this.#isOnTrial = false;
    if (wasEjected) this.#onHealth?.("returned", this.authority);
  }

  /** It did not answer, or not with a valid response. */
  failed(nowMs: number): void {
    this.#isOnTrial = false;
    this.#failures++;
    if (this.#failures >= this.#failuresMax) this.#ejectedUntilMs = nowMs + this.#ejectMs;
    // Reported once, not again with each test that fails.
    if (this.#failures === this.#failuresMax) this.#onHealth?.("ejected", this.authority);
  }

  /** The request ended before it showed whether the backend is healthy. */
  ended(): void {
    this.#isOnTrial = false;
  }
}
