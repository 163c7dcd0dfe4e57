// Acts on counters that came with an Idempotency-Key, in the database: an act is claimed before it is done, and its
// answer is kept for a day. So it is done once, whichever control node the request is sent to again. The answer of the
// database to a claim, or to giving one up, may be lost: the process that claimed the act can then claim it again.

import { BoundedMap } from "sluice";
import type { Database, Row } from "../../database/database.js";
import { fillFromSystem } from "../secret-format.js";
import { statements } from "../sql/statements.js";
import type { EntityBody } from "./entity.js";

/** A request with an Idempotency-Key. */
export interface KeyedChange {
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
  readonly claimed_by: string | null;
}

interface ReadAct extends ClaimedAct {
  readonly claimedBy?: string | undefined;
}

/** The most acts of this process that are not finished; beyond it the oldest is forgotten. */
const UNDER_WAY_MAX = 10_000;

/** How long answers are kept. */
export const ACT_KEPT_MS = 86_400_000;

/** The acts of all control nodes. Each method rejects with `SLUICE_DATABASE_UNAVAILABLE` if the database is unavailable. */
export class KeyedActs {
  readonly #database: Database;
  readonly #now: () => number;
  /** This process, in claims. */
  readonly #claimer = toClaimer();
  /** The owners of acts that this process is doing, or has done without saying what came of them. */
  readonly #underWay = new BoundedMap<string, true>(UNDER_WAY_MAX);

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /** Claims an act: undefined if it is the caller's to do, or what is known of it if it was claimed before. */
  async claim({ owner, request }: KeyedChange): Promise<ClaimedAct | undefined> {
    if (this.#underWay.get(owner) === true) return this.#read({ owner, request });
    this.#underWay.set(owner, true);
    try {
      const known = await this.#claim({ owner, request });
      if (known !== undefined) this.#underWay.delete(owner);
      return known;
    } catch (error) {
      this.#underWay.delete(owner);
      throw error;
    }
  }

  /** Keeps the answer of an act that was done. */
  async finish({ owner }: KeyedChange, answer: EntityBody): Promise<void> {
    await this.#database.query(statements.finishAct, [owner, JSON.stringify(answer)]);
    this.#underWay.delete(owner);
  }

  /** Gives up a claim, because the act was not done, or may be done again. If this rejects, only this process can try. */
  async release({ owner }: KeyedChange): Promise<void> {
    this.#underWay.delete(owner);
    await this.#database.query(statements.releaseAct, [owner]);
  }

  async #claim({ owner, request }: KeyedChange): Promise<ClaimedAct | undefined> {
    const nowMs = this.#now();
    await this.#database.query(statements.forgetActs, [nowMs - ACT_KEPT_MS]);
    const values = [owner, request, nowMs, this.#claimer];
    const [claimed] = await this.#database.query(statements.claimAct, values);
    if (claimed !== undefined) return undefined;
    const known = await this.#read({ owner, request });
    const isOwn = known.claimedBy === this.#claimer && known.answer === undefined;
    return isOwn && known.request === request ? undefined : known;
  }

  async #read({ owner, request }: KeyedChange): Promise<ReadAct> {
    const [row] = await this.#database.query<ActRow>(statements.readAct, [owner]);
    // Released between the two: as good as under way.
    if (row === undefined) return { request, answer: undefined };
    const answer = row.answer === null ? undefined : JSON.parse(row.answer);
    return { request: row.request, answer, claimedBy: row.claimed_by ?? undefined };
  }
}

function toClaimer(): string {
  const bytes = Buffer.alloc(16);
  fillFromSystem(bytes);
  return bytes.toString("base64url");
}
