// Deliveries in the database: made of events, claimed, recorded, listed and retried. Several nodes do this side by side:
// each statement takes only rows that no other node has taken.

import { createHash } from "node:crypto";
import type { Database, Row } from "../../database/database.js";
import { statements } from "../sql/statements.js";
import { type Attempt, withAttempt } from "./attempts.js";

/** What a delivery can be. */
export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const;

/** What a delivery is. */
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** An event on its way to a webhook. */
export interface Delivery {
  readonly id: string;
  readonly eventId: string;
  /** The name of the webhook. */
  readonly webhook: string;
  readonly state: DeliveryState;
  /** The rule whose quota the event is about. */
  readonly meter: string;
  readonly sharePercent: number;
  /** When the event happened. */
  readonly eventAtMs: number;
  readonly createdAtMs: number;
  /** Attempts that have begun. */
  readonly attempts: number;
  /** Undefined unless it is pending. */
  readonly nextAttemptAtMs: number | undefined;
  /** When it was delivered or given up. */
  readonly endedAtMs: number | undefined;
  readonly lastStatus: number | undefined;
  readonly lastError: string | undefined;
  /** The latest attempts, the last one at the end. */
  readonly history: readonly Attempt[];
}

/** A delivery that this process may send. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly eventId: string;
  /** The number of this attempt. */
  readonly attempt: number;
  /** Tries since the first, or since an operator's retry, with this one. */
  readonly tries: number;
  readonly history: readonly Attempt[];
}

/** Which deliveries to list. */
export interface DeliveryFilter {
  readonly state?: DeliveryState | undefined;
  readonly webhook?: string | undefined;
  readonly eventId?: string | undefined;
  /** The last delivery of the page before. */
  readonly after?: Pick<Delivery, "createdAtMs" | "id"> | undefined;
  readonly limit: number;
}

/** Deliveries of a webhook that are on their way. */
export interface PendingCount {
  readonly webhook: string;
  readonly pending: number;
  /** When the oldest was made. */
  readonly oldestAtMs: number;
}

/** What became of an attempt that did not deliver. */
export interface FailedAttempt {
  /** When it is tried again; undefined: never. */
  readonly nextAttemptAtMs: number | undefined;
  readonly nowMs: number;
}

/** Events that are dispatched in one transaction. */
const DISPATCH_MAX = 100;
/** Deliveries that are removed in one statement. */
const PRUNED_MAX = 1_000;
/** An event that no node with a webhook has seen for this long is no longer sent. */
const EVENT_AGE_MS_MAX = 7 * 86_400_000;

/** The deliveries of a ledger. */
export class Deliveries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Makes deliveries of events without deliveries, one for each webhook. Returns how many events were too old for that. */
  async dispatch(webhooks: readonly string[], nowMs: number): Promise<number> {
    let expired = 0;
    for (let isFull = true; isFull; ) {
      // A look before the transaction, which on SQLite keeps others from writing.
      const found = await this.#database.query(statements.findEventToDispatch);
      if (found.length === 0) break;
      const { events, old } = await this.#dispatchSome(webhooks, nowMs);
      expired += old;
      isFull = events === DISPATCH_MAX;
    }
    return expired;
  }

  #dispatchSome(webhooks: readonly string[], nowMs: number) {
    return this.#database.transaction(async (tx) => {
      const page = [nowMs, DISPATCH_MAX];
      const events = await tx.query<EventRow>(statements.dispatchEvents, page);
      const current = events.filter((event) => event.at_ms >= nowMs - EVENT_AGE_MS_MAX);
      for (const { id: eventId } of current) {
        for (const webhook of webhooks) {
          const values = [toDeliveryId(eventId, webhook), eventId, webhook, nowMs];
          await tx.query(statements.addDelivery, values);
        }
      }
      return { events: events.length, old: events.length - current.length };
    });
  }

  /** Takes deliveries that are due. Until `endsAtMs` no other node takes them. */
  async claim(
    webhook: string,
    { nowMs, endsAtMs, max }: { nowMs: number; endsAtMs: number; max: number },
  ): Promise<ClaimedDelivery[]> {
    const values = [webhook, nowMs, endsAtMs, max];
    const rows = await this.#database.query<ClaimRow>(statements.claimDeliveries, values);
    return rows.map((row) => ({
      id: row.id,
      eventId: row.event_id,
      attempt: row.attempts,
      tries: row.attempts - row.tries_from,
      history: readHistory(row.history),
    }));
  }

  /** What is sent for an event, as it is written in the database. */
  async readEvent(id: string): Promise<string | undefined> {
    const [row] = await this.#database.query<{ body: string }>(statements.readEvent, [id]);
    return row?.body;
  }

  /** Records that an attempt delivered. */
  async recordDelivered(claimed: ClaimedDelivery, attempt: Attempt, nowMs: number): Promise<void> {
    const history = JSON.stringify(withAttempt(claimed.history, attempt));
    const values = [claimed.id, nowMs, attempt.status ?? null, history];
    await this.#database.query(statements.endDelivery, values);
  }

  /** Records that an attempt did not. A record that comes after a later attempt has begun is dropped. */
  async recordFailed(
    claimed: ClaimedDelivery,
    attempt: Attempt,
    { nextAttemptAtMs, nowMs }: FailedAttempt,
  ): Promise<void> {
    const isLast = nextAttemptAtMs === undefined;
    await this.#database.query(statements.failAttempt, [
      claimed.id,
      claimed.attempt,
      isLast ? "failed" : "pending",
      nextAttemptAtMs ?? nowMs,
      isLast ? nowMs : null,
      attempt.status ?? null,
      attempt.error ?? null,
      JSON.stringify(withAttempt(claimed.history, attempt)),
    ]);
  }

  /** Deliveries on their way, by webhook. */
  async countPending(): Promise<PendingCount[]> {
    const rows = await this.#database.query<CountRow>(statements.countPendingDeliveries);
    return rows.map((row) => ({
      webhook: row.webhook,
      pending: row.pending,
      oldestAtMs: row.oldest_at_ms,
    }));
  }

  /** Gives up the deliveries of a webhook that have been due since before `dueBeforeMs`. Returns how many. */
  async abandon(
    webhook: string,
    { nowMs, dueBeforeMs, why }: { nowMs: number; dueBeforeMs: number; why: string },
  ): Promise<number> {
    const values = [webhook, nowMs, dueBeforeMs, why];
    return (await this.#database.query(statements.abandonDeliveries, values)).length;
  }

  /** Removes deliveries that ended before a time, some in each call. Their events are not sent again. */
  async prune(endedBeforeMs: number): Promise<void> {
    await this.#database.query(statements.pruneDeliveries, [endedBeforeMs, PRUNED_MAX]);
  }

  /** A page of deliveries, the latest first. */
  async list({ state, webhook, eventId, after, limit }: DeliveryFilter): Promise<Delivery[]> {
    const { createdAtMs = Number.MAX_SAFE_INTEGER, id = "" } = after ?? {};
    const values = [createdAtMs, id, state ?? "", webhook ?? "", eventId ?? "", limit];
    const rows = await this.#database.query<DeliveryRow>(statements.listDeliveries, values);
    return rows.map(toDelivery);
  }

  /** A delivery; undefined if there is none with this id. */
  async get(id: string): Promise<Delivery | undefined> {
    const [row] = await this.#database.query<DeliveryRow>(statements.readDelivery, [id]);
    return row && toDelivery(row);
  }

  /** Sends a delivery again, whatever its state, with all its tries. Undefined if there is none with this id. */
  async retry(id: string, nowMs: number): Promise<Delivery | undefined> {
    const changed = await this.#database.query(statements.retryDelivery, [id, nowMs]);
    return changed.length === 0 ? undefined : this.get(id);
  }
}

const ID_LENGTH = 22;

/** The same for the same event and webhook, so that dispatching twice makes no second delivery. */
function toDeliveryId(eventId: string, webhook: string): string {
  const hash = createHash("sha256").update(JSON.stringify([eventId, webhook]));
  return hash.digest("base64url").slice(0, ID_LENGTH);
}

interface EventRow extends Row {
  readonly id: string;
  readonly at_ms: number;
}

interface ClaimRow extends Row {
  readonly id: string;
  readonly event_id: string;
  readonly attempts: number;
  readonly tries_from: number;
  readonly history: string;
}

interface CountRow extends Row {
  readonly webhook: string;
  readonly pending: number;
  readonly oldest_at_ms: number;
}

interface DeliveryRow extends Row {
  readonly id: string;
  readonly event_id: string;
  readonly webhook: string;
  readonly state: string;
  readonly created_at_ms: number;
  readonly attempts: number;
  readonly next_attempt_at_ms: number;
  readonly ended_at_ms: number | null;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly history: string;
  readonly meter: string;
  readonly share_percent: number;
  readonly at_ms: number;
}

function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    eventId: row.event_id,
    webhook: row.webhook,
    state: row.state as DeliveryState,
    meter: row.meter,
    sharePercent: row.share_percent,
    eventAtMs: row.at_ms,
    createdAtMs: row.created_at_ms,
    attempts: row.attempts,
    nextAttemptAtMs: row.state === "pending" ? row.next_attempt_at_ms : undefined,
    endedAtMs: row.ended_at_ms ?? undefined,
    lastStatus: row.last_status ?? undefined,
    lastError: row.last_error ?? undefined,
    history: readHistory(row.history),
  };
}

function readHistory(json: string): Attempt[] {
  return JSON.parse(json) as Attempt[];
}
