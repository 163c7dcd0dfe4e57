// Entities: everything that the control plane keeps, each a kind, an id and a JSON body. Rule sets, plans, tenants,
// API keys and the rest differ only in their bodies, so that one way of writing, auditing and distributing serves all.

import type { Reader, Row } from "../../database/database.js";
import { statements } from "../sql/statements.js";

/** What there is. */
export const ENTITY_KINDS = [
  "rule-set",
  "plan",
  "tenant",
  "api-key",
  "override",
  "block",
  "switch",
  "access-token",
] as const;

/** A kind of entity. */
export type EntityKind = (typeof ENTITY_KINDS)[number];

const KNOWN_KINDS: ReadonlySet<string> = new Set(ENTITY_KINDS);

/** Whether there are entities of that kind. */
export function isEntityKind(kind: string): kind is EntityKind {
  return KNOWN_KINDS.has(kind);
}

/** What an entity says; it survives JSON as it is. */
export type EntityBody = Readonly<Record<string, unknown>>;

/** An entity as it stands. */
export interface Entity {
  readonly kind: EntityKind;
  readonly id: string;
  /** What it belongs to, such as a tenant; undefined if to nothing. */
  readonly parent: string | undefined;
  /** Greater with each edit, and never the same again, not even if it is removed and made again. */
  readonly revision: number;
  /** The change that wrote it last. */
  readonly sequence: number;
  readonly body: EntityBody;
}

/** Which entities of a kind are listed. */
export interface EntityPage {
  /** Only those that belong to this. Default: all. */
  readonly parent?: string | undefined;
  /** Only those whose id begins with this. Default: all. */
  readonly prefix?: string | undefined;
  /** Only those with a greater id. Default: from the first. */
  readonly after?: string | undefined;
  /** At most this many; default 100. */
  readonly limit?: number | undefined;
}

const PAGE_LIMIT = 100;
const ALL_PAGE = 1_000;

/** Reads entities, inside a transaction or outside. */
export class Entities {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** The entity, or undefined. */
  async find(kind: EntityKind, id: string): Promise<Entity | undefined> {
    const [row] = await this.#reader.query<EntityRow>(statements.readEntity, [kind, id]);
    return row === undefined ? undefined : toEntity(row);
  }

  /** The entity of a kind with the greatest id; undefined if there are none. */
  async last(kind: EntityKind): Promise<Entity | undefined> {
    const [row] = await this.#reader.query<EntityRow>(statements.lastEntity, [kind]);
    return row === undefined ? undefined : toEntity(row);
  }

  /** How many entities of a kind there are. */
  async count(kind: EntityKind): Promise<number> {
    const [row] = await this.#reader.query<CountRow>(statements.countEntities, [kind]);
    return row?.count ?? 0;
  }

  /** All entities of a kind, in the order of ids. */
  async all(kind: EntityKind): Promise<Entity[]> {
    const all: Entity[] = [];
    for (let after = ""; ; ) {
      const page = await this.list(kind, { after, limit: ALL_PAGE });
      all.push(...page);
      if (page.length < ALL_PAGE) return all;
      after = page.at(-1)?.id ?? "";
    }
  }

  /** A page of a kind, in the order of ids. */
  async list(kind: EntityKind, page: EntityPage = {}): Promise<Entity[]> {
    const { parent, prefix = "", after = "", limit = PAGE_LIMIT } = page;
    const [statement, ...values] =
      parent === undefined
        ? [statements.listEntities, kind, after, limit, prefix]
        : [statements.listEntitiesOfParent, kind, parent, after, limit, prefix];
    return (await this.#reader.query<EntityRow>(statement, values)).map(toEntity);
  }
}

interface CountRow extends Row {
  readonly count: number;
}

interface EntityRow extends Row {
  readonly kind: string;
  readonly id: string;
  readonly parent: string | null;
  readonly revision: number;
  readonly sequence: number;
  readonly body: string;
}

function toEntity({ kind, id, parent, revision, sequence, body }: EntityRow): Entity {
  return {
    kind: kind as EntityKind,
    id,
    parent: parent ?? undefined,
    revision,
    sequence,
    body: JSON.parse(body),
  };
}
