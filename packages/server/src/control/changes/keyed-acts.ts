// Acts on counters that came with an Idempotency-Key, in the database: an act is claimed before it is done, and its
// answer is kept for a day. So it is done once, whichever control node the request is sent to again.

import type { Database, Row } from "../../database/database.js";
import type { EntityBody } from "../entities/entities.js";
import { statements } from "../sql/statements.js";

/** A request with an Idempotency-Key. */
export interface KeyedRequest {
  /** A hash of the key and of the caller that it belongs to. */
  readonly owner: string;
  /** A hash of the whole request. */
  readonly request: string;
}

/** What is known of an act that was claimed before. */
export interface ClaimedAct {
  /** The hash of the request that claimed it. */
  readonly request: string;
  /** Undefined: it is under way, or its node stopped before it was done or could say so. */
  readonly answer: EntityBody | undefined;
}

interface ActRow extends Row {
  readonly request: string;
  readonly answer: string | null;
}

/** How long answers are kept. */
export const ACT_KEPT_MS = 86_400_000;

/** The acts of all control nodes. Each method rejects with `SLUICE_DATABASE_UNAVAILABLE` if the database is unavailable. */
export class KeyedActs {
  readonly #database: Database;
  readonly #now: () => number;

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /** Claims an act: undefined if it is the caller's to do, or what is known of it if it was claimed before. */
  async claim({ owner, request }: KeyedRequest): Promise<ClaimedAct | undefined> {
    const nowMs = this.#now();
    await this.#database.query(statements.forgetActs, [nowMs - ACT_KEPT_MS]);
    const values = [owner, request, nowMs];
    const [claimed] = await this.#database.query(statements.claimAct, values);
    if (claimed !== undefined) return undefined;
    const [row] = await this.#database.query<ActRow>(statements.readAct, [owner]);
    // Released between the two: as good as under way.
    if (row === undefined) return { request, answer: undefined };
    return {
      request: row.request,
      answer: row.answer === null ? undefined : JSON.parse(row.answer),
    };
  }

  /** Keeps the answer of an act that was done. */
  async finish({ owner }: KeyedRequest, answer: EntityBody): Promise<void> {
    await this.#database.query(statements.finishAct, [owner, JSON.stringify(answer)]);
  }

  /** Gives up a claim, because the act could not be done. */
  async release({ owner }: KeyedRequest): Promise<void> {
    await this.#database.query(statements.releaseAct, [owner]);
  }
}
