// The webhooks of a ledger: events of quotas go out to the receivers that the configuration names, at least once each,
// from every node that has them configured. Deliveries can be listed and retried on any node with the ledger.

import { after, every, wallMs } from "../../base/clock.js";
import type { WebhookConfig } from "../../config/config.js";
import type { Database } from "../../database/database.js";
import { createRandom } from "../../telemetry/random.js";
import type { WebhookFigures } from "../../telemetry/reported.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import { Deliverer } from "./deliverer.js";
import { Deliveries, type PendingCount } from "./deliveries.js";

/** What can change while they are sent. */
export interface WebhooksInForce {
  readonly webhooks: readonly WebhookConfig[];
  /** How long deliveries that have ended are kept. Default 30 days. */
  readonly keptMs?: number;
}

/** Options of {@link Webhooks}. */
export interface WebhooksOptions extends WebhooksInForce {
  readonly database: Database;
  readonly telemetry: Telemetry;
  /** Prepares the database before the first round; called again if it rejects. Default: it is prepared. */
  readonly prepare?: () => Promise<unknown>;
  /** Unix milliseconds. Default: the wall clock. */
  readonly nowMs?: () => number;
  /** Numbers from 0 to below 1, for jitter. Default: random ones. */
  readonly chance?: () => number;
}

const ROUND_MS = 1_000;
/** Rounds between two looks at what is pending. */
const CHECK_ROUNDS = 10;
/** How long what is in flight may take when the service stops. */
const CLOSE_MS_MAX = 3_000;
/** After this long, deliveries to a webhook that no node has configured are given up. */
const ABANDON_MS = 3 * 86_400_000;
const KEPT_MS = 30 * 86_400_000;

/** The webhooks of a ledger. Nothing is sent before {@link Webhooks.start}. */
export class Webhooks {
  readonly deliveries: Deliveries;
  readonly #options: WebhooksOptions;
  readonly #deliverer: Deliverer;
  readonly #nowMs: () => number;
  #inForce: WebhooksInForce;
  #pending: readonly PendingCount[] = [];
  #stop: () => void = () => {};
  #running: Promise<void> | undefined;
  #rounds = 0;
  #isPrepared = false;

  /** @throws What the system says of a `caFile`. */
  constructor(options: WebhooksOptions) {
    const { database, webhooks, telemetry, nowMs = wallMs, chance = createRandom() } = options;
    this.#options = options;
    this.#inForce = options;
    this.#nowMs = nowMs;
    this.deliveries = new Deliveries(database);
    const { deliveries } = this;
    this.#deliverer = new Deliverer({ deliveries, webhooks, telemetry, nowMs, chance });
  }

  /** Sends what is due from now on, every second; without webhooks, nothing. */
  start(): void {
    if (this.#options.webhooks.length === 0) return;
    this.#options.telemetry.watchWebhooks(() => this.#toFigures());
    this.#stop = every(ROUND_MS, () => void this.round());
  }

  /**
   * Sends to these from now on. What is in flight ends as it was begun.
   *
   * @throws What the system says of a `caFile`; nothing has changed then.
   */
  use(inForce: WebhooksInForce): void {
    this.#deliverer.use(inForce.webhooks);
    this.#inForce = inForce;
  }

  /** One round of sending; resolves when all that is due has been sent or is being sent. Never rejects. */
  round(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Resolves when nothing is in flight. */
  idle(): Promise<void> {
    return this.#deliverer.idle();
  }

  /** Sends no more. What is in flight gets a few seconds; what is cut off is sent again by the next node. */
  async close(): Promise<void> {
    this.#stop();
    await this.#running;
    let cancel = () => {};
    const grace = new Promise<void>((resolve) => {
      cancel = after(CLOSE_MS_MAX, resolve);
    });
    await this.#deliverer.close(grace);
    cancel();
  }

  async #round(): Promise<void> {
    try {
      await this.#prepare();
      await this.#deliverer.round();
      if (this.#rounds++ % CHECK_ROUNDS === 0) await this.#check();
    } catch (error) {
      this.#options.telemetry.problem("webhooks can't be read from the database", error);
    }
  }

  async #prepare(): Promise<void> {
    if (!this.#isPrepared) await this.#options.prepare?.();
    this.#isPrepared = true;
  }

  /** Counts pending deliveries, abandons those that no node sends, and removes those that ended long ago. */
  async #check(): Promise<void> {
    const { keptMs = KEPT_MS, webhooks } = this.#inForce;
    await this.deliveries.prune(this.#nowMs() - keptMs);
    this.#pending = await this.deliveries.countPending();
    const known = new Set(webhooks.map(({ name }) => name));
    const nowMs = this.#nowMs();
    for (const { webhook } of this.#pending.filter((each) => !known.has(each.webhook))) {
      const why = `no node has had a webhook named ${webhook} for three days`;
      const dueBeforeMs = nowMs - ABANDON_MS;
      const count = await this.deliveries.abandon(webhook, { nowMs, dueBeforeMs, why });
      this.#deliverer.outcomes.failed += count;
      if (count > 0) this.#options.telemetry.log.error({ webhook, deliveries: count }, why);
    }
  }

  #toFigures(): WebhookFigures {
    const oldestAtMs = Math.min(...this.#pending.map((each) => each.oldestAtMs));
    const pending = this.#pending.reduce((sum, each) => sum + each.pending, 0);
    const oldestMs = pending === 0 ? 0 : Math.max(0, this.#nowMs() - oldestAtMs);
    return { outcomes: { ...this.#deliverer.outcomes }, pending, oldestMs };
  }
}
