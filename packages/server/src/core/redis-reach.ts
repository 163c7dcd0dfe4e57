// Whether Redis can be reached, independent of the store's traffic: one connection that is opened at the start, and
// again whenever it is lost. A wrong address is seen in the log and in readiness before the first
// request. Host and port are shown; the rest of an address may be secret.

import type { Redis } from "ioredis";
import type { FailurePolicy } from "sluice";
import { after } from "../base/clock.js";
import { loadModule } from "../base/files/load-module.js";
import type { RedisStoreConfig } from "../config/config.js";
import type { Telemetry } from "../telemetry/telemetry.js";

/** How long the start waits for an answer of Redis. */
const FIRST_ANSWER_MS_MAX = 1_000;
/** Between two attempts to connect. */
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 2_000;
/** For a connection that is closed already ioredis waits all of this, and the process with it. */
const DISCONNECT_MS_MAX = 100;

const MEANWHILE: Readonly<Record<FailurePolicy, string>> = {
  local: "deciding locally",
  open: "allowing requests",
  closed: "refusing requests",
  throw: "failing requests",
};

/** Keeps a connection open, and says why if it can't. */
export class RedisReach {
  readonly #client: Redis;
  readonly #telemetry: Telemetry;
  readonly #meanwhile: string;
  #reason: string | undefined;
  /** What was logged last, so that each change has one line. */
  #isLoggedAway = false;
  #isClosed = false;
  #answered = () => {};
  /** Resolves when Redis has answered or failed, within a second. */
  readonly firstAnswer: Promise<void>;

  constructor({ url, onStoreFailure }: RedisStoreConfig, telemetry: Telemetry) {
    this.#telemetry = telemetry;
    this.#meanwhile = MEANWHILE[onStoreFailure];
    this.firstAnswer = new Promise((resolve) => {
      this.#answered = resolve;
    });
    const ioredis = loadModule<typeof import("ioredis")>("ioredis");
    this.#client = new ioredis.Redis(url, {
      lazyConnect: true,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      disconnectTimeout: DISCONNECT_MS_MAX,
      retryStrategy: (attempt) => Math.min(RETRY_MS_MIN * 2 ** (attempt - 1), RETRY_MS_MAX),
    });
    this.#client.on("ready", () => this.#reached());
    this.#client.on("error", (error: unknown) => this.#failed(reasonOf(error)));
    this.#client.on("close", () => this.#failed(this.#reason ?? "the connection was closed"));
    const stop = after(FIRST_ANSWER_MS_MAX, () => this.#failed(this.#reason ?? "no answer"));
    void this.firstAnswer.then(stop);
    // Failures come as events too.
    this.#client.connect().catch(() => {});
  }

  /** `redis at 127.0.0.1:6379`. */
  get name(): string {
    const { path, host, port } = this.#client.options;
    return `redis at ${path ?? `${host}:${port}`}`;
  }

  /** What is wrong, in one line; undefined if Redis answers. */
  get problem(): string | undefined {
    if (this.#reason === undefined) return undefined;
    const where = this.name.replace("redis at", "redis unreachable at");
    return `${where}: ${this.#reason}; ${this.#meanwhile} until it is back`;
  }

  /** Ends the connection. */
  close(): void {
    this.#isClosed = true;
    this.#answered();
    this.#client.disconnect();
  }

  #reached(): void {
    this.#reason = undefined;
    if (this.#isLoggedAway) this.#telemetry.log.info(`${this.name} answers again`);
    this.#isLoggedAway = false;
    this.#answered();
  }

  #failed(reason: string): void {
    if (this.#isClosed) return;
    this.#reason = reason;
    if (!this.#isLoggedAway) this.#telemetry.log.error(this.problem);
    this.#isLoggedAway = true;
    this.#answered();
  }
}

/**
 * `ECONNREFUSED`, or the words of the server: `WRONGPASS invalid username-password pair`. The client's own
 * messages about unreadable answers and TLS describe its code, so they are replaced by words that help an operator.
 */
function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  if (message?.endsWith("Please report this.")) {
    return "the server there does not speak the Redis protocol (check store.url: host and port, rediss:// for TLS)";
  }
  if (code?.startsWith("ERR_SSL_") === true || code === "EPROTO") {
    return "TLS failed (check store.url: rediss:// is for servers with TLS, redis:// for those without)";
  }
  return code ?? message ?? String(error);
}
