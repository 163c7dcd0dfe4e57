// Sends what is due. Each webhook has its own queue with a bounded number of deliveries in flight, so a slow receiver
// holds up only its own. Several nodes may run this over one database: a delivery is claimed before it is sent, and a
// node that dies in between leaves a claim that ends by itself.

import { readFileSync } from "node:fs";
import { signWebhook } from "sluice/webhooks";
import { readVersion } from "../../base/version.js";
import type { WebhookConfig } from "../../config/config.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import type { Attempt } from "./attempts.js";
import { TRIES_MAX, waitMs } from "./backoff.js";
import type { ClaimedDelivery, Deliveries } from "./deliveries.js";
import { type PostOutcome, type PostTarget, postWebhook } from "./post-webhook.js";

/** Deliveries to one webhook that are in flight. */
export const IN_FLIGHT_MAX = 5;
/** How long recording an outcome may take before another node sends again. */
const RECORD_MS_MAX = 30_000;

/** What became of deliveries since the start. */
export interface DeliveryOutcomes {
  delivered: number;
  /** Attempts that failed and are tried again. */
  retried: number;
  /** Given up. */
  failed: number;
  /** Events that were too old when a webhook was there for them. */
  expired: number;
}

/** Options of {@link Deliverer}. */
export interface DelivererOptions {
  readonly deliveries: Deliveries;
  /** Those of the start. */
  readonly webhooks: readonly WebhookConfig[];
  readonly telemetry: Telemetry;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  /** Numbers from 0 to below 1. */
  readonly chance: () => number;
}

interface WebhookQueue {
  webhook: WebhookConfig;
  target: PostTarget;
  inFlight: number;
  /** Whether more may be due than was claimed. */
  hasMore: boolean;
  isFilling: boolean;
}

/** Sends deliveries until it is closed. */
export class Deliverer {
  readonly outcomes: DeliveryOutcomes = { delivered: 0, retried: 0, failed: 0, expired: 0 };
  readonly #options: DelivererOptions;
  #queues: readonly WebhookQueue[] = [];
  readonly #agent = `Sluice/${readVersion()}`;
  readonly #sending = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  #isClosed = false;

  /** @throws What the system says of a `caFile`. */
  constructor(options: DelivererOptions) {
    this.#options = options;
    this.use(options.webhooks);
  }

  /**
   * Sends to these webhooks from now on. What is in flight ends as it was begun.
   *
   * @throws What the system says of a `caFile`; nothing has changed then.
   */
  use(webhooks: readonly WebhookConfig[]): void {
    const ends = webhooks.map((webhook) => ({ webhook, target: toTarget(webhook) }));
    this.#queues = ends.map((end) => {
      const known = this.#queues.find(({ webhook }) => webhook.name === end.webhook.name);
      const queue = known ?? { ...end, inFlight: 0, hasMore: false, isFilling: false };
      return Object.assign(queue, end);
    });
  }

  /** Makes deliveries of new events and starts to send what is due. Rejects if the database does not answer. */
  async round(): Promise<void> {
    const { deliveries, nowMs } = this.#options;
    const names = this.#queues.map(({ webhook }) => webhook.name);
    const expired = await deliveries.dispatch(names, nowMs());
    this.outcomes.expired += expired;
    if (expired > 0) this.#options.telemetry.log.warn({ events: expired }, EXPIRED);
    await Promise.all(this.#queues.map((queue) => this.#fill(queue)));
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending);
  }

  /** Starts nothing more, waits for what is in flight until `grace` resolves, and records what it cuts off. */
  async close(grace: Promise<unknown>): Promise<void> {
    this.#isClosed = true;
    await Promise.race([this.idle(), grace]);
    this.#stopping.abort();
    await this.idle();
  }

  /** Claims until nothing is due or the queue is full; once at a time, so that a queue does not compete with itself. */
  async #fill(queue: WebhookQueue): Promise<void> {
    if (!queue.webhook.isEnabled || queue.isFilling || !this.#queues.includes(queue)) return;
    queue.isFilling = true;
    try {
      while (queue.inFlight < IN_FLIGHT_MAX && !this.#isClosed && this.#queues.includes(queue)) {
        const claimed = await this.#claim(queue.webhook, IN_FLIGHT_MAX - queue.inFlight);
        queue.hasMore = claimed.length > 0;
        if (!queue.hasMore) return;
        for (const delivery of claimed) this.#start(queue, delivery);
      }
    } finally {
      queue.isFilling = false;
    }
  }

  #claim({ name, timeoutMs }: WebhookConfig, max: number): Promise<ClaimedDelivery[]> {
    const nowMs = this.#options.nowMs();
    const endsAtMs = nowMs + timeoutMs + RECORD_MS_MAX;
    return this.#options.deliveries.claim(name, { nowMs, endsAtMs, max });
  }

  #start(queue: WebhookQueue, delivery: ClaimedDelivery): void {
    queue.inFlight++;
    const sending = this.#deliver(queue, delivery)
      // The claim ends by itself, and it is sent again.
      .catch((error) => this.#options.telemetry.problem(NOT_RECORDED, error))
      .finally(() => {
        queue.inFlight--;
        this.#sending.delete(sending);
        if (queue.hasMore) this.#fillLater(queue);
      });
    this.#sending.add(sending);
  }

  /** What could not be claimed now is claimed in the next round. */
  #fillLater(queue: WebhookQueue): void {
    const filling: Promise<void> = this.#fill(queue)
      .catch(() => {})
      .finally(() => this.#sending.delete(filling));
    this.#sending.add(filling);
  }

  async #deliver({ webhook, target }: WebhookQueue, delivery: ClaimedDelivery): Promise<void> {
    const { deliveries, nowMs } = this.#options;
    const atMs = nowMs();
    const event = await deliveries.readEvent(delivery.eventId);
    // Removed together with its event.
    if (event === undefined) return;
    if (delivery.tries > TRIES_MAX) return this.#record(webhook, delivery, atMs, NO_TRIES_LEFT);
    const body = toWebhookBody(delivery.eventId, event);
    const { eventId } = delivery;
    const headers = signWebhook({ eventId, body, secrets: webhook.secrets, nowMs: atMs });
    const outcome = await postWebhook(target, {
      headers: { ...headers, "user-agent": this.#agent },
      body,
      signal: this.#stopping.signal,
    });
    await this.#record(webhook, delivery, atMs, outcome);
  }

  async #record(
    { name }: WebhookConfig,
    delivery: ClaimedDelivery,
    atMs: number,
    outcome: PostOutcome,
  ): Promise<void> {
    const { deliveries, nowMs, chance, telemetry } = this.#options;
    const attempt = toAttempt(delivery, atMs, outcome);
    const line = { webhook: name, delivery: delivery.id, ...attempt };
    if (outcome.isDelivered) {
      await deliveries.recordDelivered(delivery, attempt, nowMs());
      this.outcomes.delivered++;
      telemetry.log.debug(line, "webhook delivered");
      return;
    }
    const { retryAfterMs } = outcome;
    const againMs = waitMs({ tries: delivery.tries, chance, retryAfterMs });
    const nextAttemptAtMs = againMs === undefined ? undefined : nowMs() + againMs;
    await deliveries.recordFailed(delivery, attempt, { nextAttemptAtMs, nowMs: nowMs() });
    if (againMs === undefined) {
      this.outcomes.failed++;
      telemetry.log.error(line, "webhook given up; sluice webhooks retry sends it again");
    } else {
      this.outcomes.retried++;
      telemetry.log.warn({ ...line, againMs }, "webhook not delivered; it is sent again");
    }
  }
}

const EXPIRED = "events were more than seven days old before a webhook existed for them; not sent";
const NOT_RECORDED = "the outcome of a webhook could not be recorded; it is sent again";
const NO_TRIES_LEFT: PostOutcome = {
  isDelivered: false,
  tookMs: 0,
  status: undefined,
  error: "not sent: the outcome of the last try is not known",
  retryAfterMs: undefined,
};

function toTarget({ url, timeoutMs, caFile }: WebhookConfig): PostTarget {
  return { url, timeoutMs, ca: caFile === undefined ? undefined : readFileSync(caFile, "utf8") };
}

function toAttempt(
  { attempt }: ClaimedDelivery,
  atMs: number,
  { tookMs, status, error }: PostOutcome,
): Attempt {
  return {
    attempt,
    atMs,
    tookMs,
    ...(status === undefined ? {} : { status }),
    ...(error === undefined ? {} : { error }),
  };
}

/** The body of a webhook, out of an event as the ledger wrote it. */
export function toWebhookBody(eventId: string, eventJson: string): string {
  const { type, atMs, ...data } = JSON.parse(eventJson) as Readonly<Record<string, unknown>>;
  return JSON.stringify({ id: eventId, type, atMs, data });
}
