// Where a node with a database gets its state from: a snapshot of all entities, and the changes after it. Followers
// get the same from a control node, over HTTP.

import { type AuditRow, toEntry } from "./audit.js";
import type { Database, Unsubscribe } from "./database/database.js";
import { ENTITY_KINDS, Entities, type Entity } from "./entities.js";
import { statements } from "./sql/statements.js";
import type { NodeChange, NodeEntity, Snapshot } from "./state.js";

/** A source of state. */
export interface ControlFeed {
  /** Everything, as of some change. */
  snapshot(): Promise<Snapshot>;
  /** The next changes after one, in order; empty if there are none. */
  changesAfter(sequence: number): Promise<readonly NodeChange[]>;
  /** Calls back when there may be changes. */
  subscribe(onChange: () => void): Unsubscribe;
}

const PAGE = 1_000;

/** A feed out of a database. */
export class DatabaseFeed implements ControlFeed {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The head is read first and the entities after it, without a lock: entities that change meanwhile are newer than the
   * snapshot's number says, and the changes that follow it pass over them.
   */
  async snapshot(): Promise<Snapshot> {
    const [head] = await this.#database.query<{ sequence: number }>(statements.readHead);
    const entities: NodeEntity[] = [];
    for (const kind of ENTITY_KINDS) {
      for (let after = ""; ; ) {
        const page = await new Entities(this.#database).list(kind, { after, limit: PAGE });
        for (const entity of page) entities.push(toNodeEntity(entity));
        if (page.length < PAGE) break;
        after = page.at(-1)?.id ?? "";
      }
    }
    return { sequence: head?.sequence ?? 0, entities };
  }

  async changesAfter(sequence: number): Promise<readonly NodeChange[]> {
    const rows = await this.#database.query<AuditRow>(statements.listAudit, [sequence, PAGE]);
    return rows.map(toEntry).map(({ sequence, kind, entityId, after }) => ({
      sequence,
      kind,
      entityId,
      after,
    }));
  }

  subscribe(onChange: () => void): Unsubscribe {
    return this.#database.subscribe(onChange);
  }
}

function toNodeEntity({ kind, id, sequence, body }: Entity): NodeEntity {
  return { kind, id, sequence, body };
}
