// The feed of control nodes, read from their database.

import { nextTurn } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { Database, Row, Unsubscribe } from "../../database/database.js";
import { type AuditRow, listAudit, toEntry } from "../changes/audit.js";
import { ENTITY_KINDS, Entities, type Entity, type EntityBody } from "../changes/entity.js";
import type { LastUses } from "../keys/key-uses.js";
import { writeLastUses } from "../keys/stored-uses.js";
import { statements } from "../sql/statements.js";
import type { ResolvingFeed } from "../state/control-feed.js";
import type { NodeChange, NodeEntity, Snapshot, StatePosition } from "../state/state.js";

const PAGE = 1_000;
/** Versions of rules that are read together: each may have megabytes. */
const RULE_SETS_PAGE = 4;

/** The feed of a node that has the database. */
export class DatabaseFeed implements ResolvingFeed {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The head is read first and the entities after it, without a lock: entities that change meanwhile are newer than the
   * snapshot's number says, and the changes that follow it pass over them.
   */
  async snapshot(): Promise<Snapshot> {
    const { sequence, hash } = await this.#head();
    const entities: NodeEntity[] = [];
    for (const kind of ENTITY_KINDS) {
      const limit = kind === "rule-set" ? RULE_SETS_PAGE : PAGE;
      for (let after = ""; ; ) {
        const page = await new Entities(this.#database).list(kind, { after, limit });
        for (const entity of page) entities.push(toNodeEntity(entity));
        if (page.length < limit) break;
        after = page.at(-1)?.id ?? "";
        await nextTurn();
      }
    }
    return { sequence, hash, entities };
  }

  async changesAfter(position: StatePosition): Promise<readonly NodeChange[]> {
    const rows = await listAudit(this.#database, position.sequence, PAGE);
    if (rows.length === 0) mustBeAt(position, await this.#head());
    return rows.map(toNodeChange);
  }

  subscribe(onChange: () => void): Unsubscribe {
    return this.#database.subscribe(onChange);
  }

  storeUses(uses: LastUses): Promise<void> {
    return writeLastUses(this.#database, uses);
  }

  async #head(): Promise<StatePosition> {
    const [head] = await this.#database.query<StatePosition & Row>(statements.readHead);
    if (head === undefined) throw new ServerError("SLUICE_DATABASE_FAILED", "the head is missing");
    return head;
  }
}

/** A database that is restored from a backup ends before the node, or elsewhere. */
function mustBeAt({ sequence, hash }: StatePosition, head: StatePosition): void {
  const isElsewhere = head.sequence === sequence && hash !== "" && head.hash !== hash;
  if (head.sequence >= sequence && !isElsewhere) return;
  const seen = `the node is at change ${sequence}, which the database does not have`;
  throw new ServerError("SLUICE_CONTROL_GAP", seen);
}

function toNodeChange(row: AuditRow): NodeChange {
  const { sequence, kind, entityId, after, hash } = toEntry(row);
  const body = after && forNodes(kind, after);
  return { sequence, kind, entityId, after: body, previousHash: row.previous_hash, hash };
}

function toNodeEntity({ kind, id, sequence, body }: Entity): NodeEntity {
  return { kind, id, sequence, body: forNodes(kind, body) };
}

/** Nodes need the rules that are published, and not the text of every version before them. */
function forNodes(kind: string, body: EntityBody): EntityBody {
  if (kind !== "rule-set" || body.status === "published") return body;
  const { text: _, ...rest } = body;
  return rest;
}
