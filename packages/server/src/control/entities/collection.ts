// A collection: all entities of one kind that operators write, such as plans or blocks. Kinds differ in what their
// bodies say and in what must be true around them; reading, writing and conflicts are the same.

import type { Shape } from "sluice/shapes";
import type { ServerError } from "../../base/errors.js";
import { readInput } from "../../base/read-input.js";
import type { RulesUse } from "../../core/rules/read-job.js";
import type { Reader } from "../../database/database.js";
import type { ChangeRequest, Changes } from "../changes/changes.js";
import {
  Entities,
  type Entity,
  type EntityBody,
  type EntityKind,
  type EntityPage,
} from "../changes/entity.js";
import { drawLetters, type FillRandom } from "../secret-format.js";
import { entityName } from "./entity-shapes.js";
import { mustBeAhead } from "./future-time.js";
import { missingEntity } from "./missing-entity.js";

/** An entity of a collection. */
export interface Item<T> {
  readonly id: string;
  /** Greater with each edit, and never the same again, not even if it is removed and made again. */
  readonly revision: number;
  readonly body: T;
}

/** What a kind of entity is. */
export interface CollectionKind<T extends EntityBody> {
  readonly kind: EntityKind;
  /** For people: `plan`. */
  readonly noun: string;
  /** What its body says. It has to read what it has read before. */
  readonly shape: Shape<T>;
  /** What ids look like. Default: a name. */
  readonly id?: Shape<string>;
  /** What an entity belongs to, which lists can be narrowed to. Default: nothing. */
  readonly parentOf?: (body: T) => string | undefined;
  /** Throws if the body can't be written as things are. Default: it always can. */
  readonly check?: (
    item: Pick<Item<T>, "id" | "body">,
    entities: Entities,
    rulesUse: RulesUse | undefined,
  ) => Promise<void>;
  /** Throws if the entity can't be removed as things are. Default: it always can. */
  readonly checkRemoval?: (id: string, entities: Entities) => Promise<void>;
}

/** What collections need. */
export interface CollectionParts {
  readonly reader: Reader;
  readonly changes: Changes;
  readonly fillRandom: FillRandom;
  /** Unix milliseconds. */
  readonly now: () => number;
  /** How nodes use rules, for limits that have to fit. Default: they are not checked for that. */
  readonly rulesUse?: RulesUse | undefined;
}

/** What is written. */
export interface PutEdit {
  readonly id: string;
  readonly input: unknown;
  /** The revision that was edited; 0 if it must not be there yet. Default: whatever it is. */
  readonly revision?: number | undefined;
  /** Whether it has to be there. Default false. */
  readonly mustExist?: boolean | undefined;
}

const MADE_ID_LENGTH = 12;

/** Reads and changes the entities of one kind. */
export class Collection<T extends EntityBody> {
  readonly #kind: CollectionKind<T>;
  readonly #entities: Entities;
  readonly #changes: Changes;
  readonly #fillRandom: FillRandom;
  readonly #now: () => number;
  readonly #rulesUse: RulesUse | undefined;

  constructor(kind: CollectionKind<T>, parts: CollectionParts) {
    this.#kind = kind;
    this.#entities = new Entities(parts.reader);
    this.#changes = parts.changes;
    this.#fillRandom = parts.fillRandom;
    this.#now = parts.now;
    this.#rulesUse = parts.rulesUse;
  }

  /** What bodies say, for API descriptions. */
  get shape(): Shape<T> {
    return this.#kind.shape;
  }

  /** A page, in the order of ids. */
  async list(page: EntityPage = {}): Promise<Item<T>[]> {
    const entities = await this.#entities.list(this.#kind.kind, page);
    return entities.map((entity) => toItem<T>(entity));
  }

  /** The entity; undefined if there is none of that id. */
  async find(id: string): Promise<Item<T> | undefined> {
    const entity = await this.#entities.find(this.#kind.kind, id);
    return entity === undefined ? undefined : toItem<T>(entity);
  }

  /** The entity. @throws ServerError `SLUICE_NOT_FOUND`. */
  async get(id: string): Promise<Item<T>> {
    const item = await this.find(id);
    if (item === undefined) throw await this.#missing(this.#entities, id);
    return item;
  }

  /** Makes an entity under an id of ours. */
  create(request: ChangeRequest, input: unknown): Promise<Item<T>> {
    const id = drawLetters(MADE_ID_LENGTH, this.#fillRandom);
    return this.put(request, { id, input, revision: 0 });
  }

  /**
   * Makes an entity, or replaces what it says.
   *
   * @throws ServerError `SLUICE_REQUEST_INVALID`, `SLUICE_NOT_FOUND` if it must exist and does not, or ConflictError if it is at another revision.
   */
  async put(request: ChangeRequest, edit: PutEdit): Promise<Item<T>> {
    const { kind, shape, noun, parentOf, check } = this.#kind;
    const id = readInput(this.#kind.id ?? entityName, edit.id, `the id of a ${noun}`);
    const body = withoutUndefined(readInput(shape, edit.input));
    const [written] = await this.#changes.apply(request, async (entities) => {
      const before = await entities.find(kind, id);
      const isThere = before !== undefined;
      // What has ended by now may still be edited.
      if (body.endsAtMs !== before?.body.endsAtMs)
        mustBeAhead("endsAtMs", body.endsAtMs as number | undefined, this.#now());
      if (edit.mustExist === true && !isThere) throw await this.#missing(entities, id);
      await check?.({ id, body }, entities, this.#rulesUse);
      const action = isThere ? "edit" : "create";
      const parent = parentOf?.(body) ?? null;
      return [{ action, kind, id, parent, body, revision: edit.revision }];
    });
    // A creation that is sent again was made under another id.
    return this.get(written?.entityId ?? id);
  }

  /** Removes an entity. @throws ServerError `SLUICE_NOT_FOUND`, or ConflictError if it is at another revision. */
  async remove(request: ChangeRequest, id: string, revision?: number): Promise<void> {
    const { kind, checkRemoval } = this.#kind;
    await this.#changes.apply(request, async (entities) => {
      if ((await entities.find(kind, id)) === undefined) throw await this.#missing(entities, id);
      await checkRemoval?.(id, entities);
      return [{ action: "remove", kind, id, body: undefined, revision }];
    });
  }

  #missing(entities: Entities, id: string): Promise<ServerError> {
    const { kind, noun } = this.#kind;
    return missingEntity(entities, { kind, noun, id });
  }
}

function toItem<T>({ id, revision, body }: Entity): Item<T> {
  return { id, revision, body: body as T };
}

/** What JSON keeps of it, so that what is answered now is what is read later. */
function withoutUndefined<T extends EntityBody>(body: T): T {
  return JSON.parse(JSON.stringify(body));
}
