// API keys of tenants: made, rotated and revoked here, resolved on every node. A key is shown once, when it is made; a
// hash is kept.

import {
  listOf,
  object,
  optional,
  type ReadAs,
  required,
  type Shape,
  stringFor,
  wholeNumber,
  withDefault,
} from "sluice/shapes";
import { ServerError, show } from "../../base/errors.js";
import { readInput } from "../../base/read-input.js";
import type { Reader } from "../../database/database.js";
import { type ChangeRequest, type Changes, mustBeNew } from "../changes/changes.js";
import { Entities, type Entity } from "../changes/entity.js";
import { displayName, entityName, timeMs } from "../entities/entity-shapes.js";
import { mustBeAhead } from "../entities/future-time.js";
import { missingEntity } from "../entities/missing-entity.js";
import { type LastUses, startOfHourMs } from "../keys/key-uses.js";
import { readLastUses } from "../keys/stored-uses.js";
import { type FillRandom, makeSecret } from "../secret-format.js";

/** A key, without its secret. */
export interface ApiKey {
  readonly id: string;
  readonly tenant: string;
  /** For people. */
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAtMs: number;
  /** Undefined: it does not expire. */
  readonly expiresAtMs: number | undefined;
  /** The key that replaces it; undefined if it was not rotated. */
  readonly replacedBy: string | undefined;
  /** The first key of a chain of rotations, under whose id all of them are counted; undefined if it is this one. */
  readonly countedAs: string | undefined;
  /** The start of the hour in which it was last used, as far as nodes have reported; null if it was not. */
  readonly lastUsedAtMs: number | null;
}

/** What the entity of a key says. */
type KeptKey = Omit<ApiKey, "lastUsedAtMs">;

/** A key that was just made, with what its holder has to send. */
export interface NewApiKey extends ApiKey {
  /** Shown once. */
  readonly secret: string;
}

/** What a key is made of. */
export type ApiKeyInput = ReadAs<typeof apiKeyShape>;

const KIND = "api-key";
const SCOPES_MAX = 50;
const OVERLAP_MS_MAX = 90 * 86_400_000;

const scope: Shape<string> = stringFor({
  what: "a scope of 1 to 100 letters, digits or any of ._:/-",
  pattern: "^[A-Za-z0-9._:/-]{1,100}$",
  lengthMax: 100,
  toValue: (given) => (/^[\w.:/-]+$/.test(given) ? given : undefined),
});

/** What a key is made of. */
export const apiKeyShape = object({
  tenant: required(entityName, "The tenant that it belongs to."),
  name: required(displayName, "For people."),
  scopes: withDefault(
    listOf(scope, { countMin: 0, countMax: SCOPES_MAX }),
    [],
    "What it may be used for. Rules match them as the attribute `scope`.",
  ),
  expiresAtMs: optional(timeMs, "When it ends, in Unix milliseconds. Default: never."),
});

/** How a key is rotated. */
export const rotationShape = object({
  overlapMs: withDefault(
    wholeNumber({ min: 0, max: OVERLAP_MS_MAX }),
    0,
    "For how long the old key stays valid, in milliseconds.",
  ),
});

/** Makes, rotates, revokes and lists keys. */
export class ApiKeys {
  readonly #reader: Reader;
  readonly #entities: Entities;
  readonly #changes: Changes;
  readonly #fillRandom: FillRandom;
  readonly #now: () => number;

  constructor(
    reader: Reader,
    changes: Changes,
    { fillRandom, now }: { readonly fillRandom: FillRandom; readonly now: () => number },
  ) {
    this.#reader = reader;
    this.#entities = new Entities(reader);
    this.#changes = changes;
    this.#fillRandom = fillRandom;
    this.#now = now;
  }

  /**
   * Makes a key.
   *
   * @throws ServerError `SLUICE_NOT_FOUND` if there is no such tenant, `SLUICE_REQUEST_INVALID` if it would have expired,
   *   `SLUICE_CONFLICT` if this change was made before.
   */
  async create(request: ChangeRequest, given: unknown): Promise<NewApiKey> {
    const input = readInput(apiKeyShape, given);
    const made = this.#make(input);
    const entries = await this.#changes.apply(request, async (entities) => {
      if ((await entities.find("tenant", input.tenant)) === undefined) {
        throw await missingEntity(entities, { kind: "tenant", noun: "tenant", id: input.tenant });
      }
      mustBeAhead("expiresAtMs", input.expiresAtMs, this.#now());
      return [toCreate(made)];
    });
    mustBeNew(entries, made.key.id);
    return made.key;
  }

  /**
   * Makes a key in place of another, which stays valid for `overlapMs` more: 0 ends it immediately.
   *
   * @throws ServerError `SLUICE_NOT_FOUND` if there is no such key, `SLUICE_CONFLICT` if it was rotated before.
   */
  async rotate(
    request: ChangeRequest,
    { id, ...rotation }: { readonly id: string; readonly overlapMs?: number },
  ): Promise<NewApiKey> {
    const { overlapMs } = readInput(rotationShape, rotation);
    let made: Made | undefined;
    await this.#changes.apply(request, async (entities) => {
      const entity = await mustFind(entities, id);
      const old = toKept(entity);
      if (old.replacedBy !== undefined) {
        throw new ServerError(
          "SLUICE_CONFLICT",
          `the key was rotated before, to ${old.replacedBy}`,
        );
      }
      made = this.#make(old, old.countedAs ?? old.id);
      const endMs = Math.min(old.expiresAtMs ?? Number.POSITIVE_INFINITY, this.#now() + overlapMs);
      const body = { ...entity.body, expiresAtMs: endMs, replacedBy: made.key.id };
      return [
        toCreate(made),
        { action: "rotate", kind: KIND, id, body, revision: entity.revision },
      ];
    });
    if (made === undefined) {
      throw new ServerError(
        "SLUICE_CONFLICT",
        "this change was made before, and its secret is not shown again",
      );
    }
    return made.key;
  }

  /** Ends a key. @throws ServerError `SLUICE_NOT_FOUND` if there is none of that id. */
  async revoke(request: ChangeRequest, id: string): Promise<void> {
    await this.#changes.apply(request, async (entities) => {
      await mustFind(entities, id);
      return [{ action: "revoke", kind: KIND, id, body: undefined }];
    });
  }

  /** A key. @throws ServerError `SLUICE_NOT_FOUND` if there is none of that id. */
  async get(id: string): Promise<ApiKey> {
    const key = toKept(await mustFind(this.#entities, id));
    const uses = await readLastUses(this.#reader, { firstId: id, lastId: id });
    return toKey(key, uses);
  }

  /** Keys of a tenant, or of all, in the order of ids, after one. */
  async list(page: { tenant?: string; after?: string; limit?: number } = {}): Promise<ApiKey[]> {
    const { tenant, after, limit } = page;
    const keys = (await this.#entities.list(KIND, { parent: tenant, after, limit })).map(toKept);
    const [firstId, lastId] = [keys[0]?.id, keys.at(-1)?.id];
    if (firstId === undefined || lastId === undefined) return [];
    const uses = await readLastUses(this.#reader, { tenant, firstId, lastId });
    return keys.map((key) => toKey(key, uses));
  }

  #make({ tenant, name, scopes, expiresAtMs }: ApiKeyInput, countedAs?: string): Made {
    const { id, secret, hash } = makeSecret("apiKey", this.#fillRandom);
    const key = { id, tenant, name, scopes, createdAtMs: this.#now(), expiresAtMs };
    return { hash, key: { ...key, replacedBy: undefined, countedAs, lastUsedAtMs: null, secret } };
  }
}

interface Made {
  readonly key: NewApiKey;
  readonly hash: string;
}

function toCreate({ key: { id, secret: _, lastUsedAtMs: __, ...rest }, hash }: Made) {
  const body = { ...rest, hash };
  return { action: "create", kind: KIND, id, parent: rest.tenant, body, revision: 0 } as const;
}

async function mustFind(entities: Entities, id: string): Promise<Entity> {
  const entity = await entities.find(KIND, id);
  if (entity === undefined)
    throw new ServerError("SLUICE_NOT_FOUND", `there is no API key ${show(id)}`);
  return entity;
}

function toKey(key: KeptKey, uses: LastUses): ApiKey {
  const hour = uses.get(key.id);
  return { ...key, lastUsedAtMs: hour === undefined ? null : startOfHourMs(hour) };
}

function toKept({ id, body }: Entity): KeptKey {
  const { tenant, name, scopes, createdAtMs, expiresAtMs, replacedBy, countedAs } =
    body as unknown as KeptKey;
  return { id, tenant, name, scopes, createdAtMs, expiresAtMs, replacedBy, countedAs };
}
