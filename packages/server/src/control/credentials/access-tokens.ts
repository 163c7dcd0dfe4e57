// Access tokens: who may use the admin API, and in which role. A token is shown once, when it is made; a hash is kept.

import { as, choice, object, optional, required, type Shape } from "sluice/shapes";
import { ServerError, show } from "../../base/errors.js";
import { readInput } from "../../base/read-input.js";
import type { Reader } from "../../database/database.js";
import { type ChangeRequest, type Changes, mustBeNew } from "../changes/changes.js";
import { Entities, type Entity, type EntityBody } from "../changes/entity.js";
import { displayName, timeMs } from "../entities/entity-shapes.js";
import { mustBeAhead } from "../entities/future-time.js";
import { type FillRandom, isSameHash, makeSecret, readSecret } from "../secret-format.js";

/** Roles of people, each of which may do what those before it may, and the role of a follower node. */
export const ROLES = ["viewer", "operator", "admin", "node"] as const;

/**
 * A viewer reads; an operator acts on counters, overrides, blocks and switches, and writes drafts; an admin changes
 * everything. A node follows the changes, and does nothing else.
 */
export type Role = (typeof ROLES)[number];

/** A token, without its secret. */
export interface AccessToken {
  readonly id: string;
  /** For people, and for the audit log. */
  readonly name: string;
  readonly role: Role;
  readonly createdAtMs: number;
  /** Undefined: it does not expire. */
  readonly expiresAtMs: number | undefined;
}

/** A token that was just made, with what its holder has to send. */
export interface NewAccessToken extends AccessToken {
  /** Shown once. */
  readonly secret: string;
}

/** What the audit log calls callers without an access token: no token may pass for one of them. */
const RESERVED_NAMES: readonly string[] = ["admin.token", "local", "anonymous"];

const tokenName: Shape<string> = as(displayName, (name, spot) =>
  RESERVED_NAMES.includes(name.trim().toLowerCase())
    ? spot.say(`must be another name: ${name.trim()} stands for callers without an access token`)
    : name,
);

/** What a token is made of. */
export const accessTokenShape = object({
  name: required(tokenName, "For people, and for the audit log."),
  role: required(choice(ROLES), "What its holder may do."),
  expiresAtMs: optional(timeMs, "When it ends, in Unix milliseconds. Default: never."),
});

const KIND = "access-token";

/** Whether a role includes another. Only an admin may do what a node does, and a node nothing that people do. */
export function mayActAs(role: Role, needed: Role): boolean {
  if (role === needed || role === "admin") return true;
  return role === "operator" && needed === "viewer";
}

/** What is known of a token by its id: from a node's state. */
export type FindToken = (id: string) => EntityBody | undefined;

/** The token that was sent; undefined if it is malformed, unknown, revoked or expired. It waits for nothing. */
export function checkAccessToken(
  sent: string,
  find: FindToken,
  nowMs: number,
): AccessToken | undefined {
  const read = readSecret("accessToken", sent);
  const body = read === undefined ? undefined : find(read.id);
  if (read === undefined || body === undefined) return undefined;
  return isSameHash(String(body.hash), read.hash) ? toValid(read.id, body, nowMs) : undefined;
}

/** The token of an id, for a caller that has shown it before; undefined if it is revoked or expired by now. */
export function findAccessToken(
  id: string,
  find: FindToken,
  nowMs: number,
): AccessToken | undefined {
  const body = find(id);
  return body === undefined ? undefined : toValid(id, body, nowMs);
}

/** Makes, lists, revokes and checks tokens. */
export class AccessTokens {
  readonly #entities: Entities;
  readonly #changes: Changes;
  readonly #fillRandom: FillRandom;
  readonly #now: () => number;

  constructor(
    reader: Reader,
    changes: Changes,
    { fillRandom, now }: { readonly fillRandom: FillRandom; readonly now: () => number },
  ) {
    this.#entities = new Entities(reader);
    this.#changes = changes;
    this.#fillRandom = fillRandom;
    this.#now = now;
  }

  /**
   * Makes a token. While no admin has one, only an admin's: the first token ends the free access of this machine, and
   * no caller could make another.
   *
   * @throws ServerError `SLUICE_REQUEST_INVALID` if it would have expired, `SLUICE_CONFLICT` if this change was made
   *   before, or if there is no admin token yet and this is not one.
   */
  async create(request: ChangeRequest, given: unknown): Promise<NewAccessToken> {
    const { name, role, expiresAtMs } = readInput(accessTokenShape, given);
    const { id, secret, hash } = makeSecret("accessToken", this.#fillRandom);
    const createdAtMs = this.#now();
    const body = { name, role, createdAtMs, expiresAtMs, hash };
    const entries = await this.#changes.apply(request, async (entities) => {
      mustBeAhead("expiresAtMs", expiresAtMs, this.#now());
      if (role !== "admin" && (await this.#admins(entities)).length === 0) {
        const seen =
          "there is no admin token; make one first: sluice tokens create --name NAME --role admin";
        throw new ServerError("SLUICE_CONFLICT", seen);
      }
      return [{ action: "create", kind: KIND, id, body, revision: 0 }];
    });
    mustBeNew(entries, id);
    return { id, name, role, createdAtMs, expiresAtMs, secret };
  }

  /** Makes the first admin token if there is no token at all; undefined if there is one. */
  async createFirst(request: ChangeRequest): Promise<NewAccessToken | undefined> {
    const { id, secret, hash } = makeSecret("accessToken", this.#fillRandom);
    const token = { name: "first", role: "admin" as const, createdAtMs: this.#now() };
    const entries = await this.#changes.apply(request, async (entities) => {
      if ((await entities.list(KIND, { limit: 1 })).length > 0) return [];
      return [{ action: "create", kind: KIND, id, body: { ...token, hash }, revision: 0 }];
    });
    return entries.length === 0 ? undefined : { id, ...token, expiresAtMs: undefined, secret };
  }

  /** All tokens, without secrets. */
  async list(): Promise<AccessToken[]> {
    return (await this.#entities.all(KIND)).map(toToken);
  }

  /**
   * Ends a token.
   *
   * @throws ServerError `SLUICE_NOT_FOUND` if there is none of that id, `SLUICE_CONFLICT` if it is the last admin's.
   */
  async revoke(request: ChangeRequest, id: string): Promise<void> {
    await this.#changes.apply(request, async (entities) => {
      if ((await entities.find(KIND, id)) === undefined)
        throw new ServerError("SLUICE_NOT_FOUND", `there is no access token of the id ${show(id)}`);
      const admins = await this.#admins(entities);
      if (admins.length === 1 && admins[0]?.id === id) {
        const seen = "it is the last admin token; make another one first";
        throw new ServerError("SLUICE_CONFLICT", seen);
      }
      return [{ action: "revoke", kind: KIND, id, body: undefined }];
    });
  }

  /** The tokens of admins that have not expired: there has to be one always. */
  async #admins(entities: Entities): Promise<AccessToken[]> {
    const all = (await entities.all(KIND)).map(toToken);
    return all.filter((token) => token.role === "admin" && !isExpired(token, this.#now()));
  }

  /** The token that was sent; undefined if it is malformed, unknown, revoked or expired. */
  async check(sent: string): Promise<AccessToken | undefined> {
    const id = readSecret("accessToken", sent)?.id;
    const entity = id === undefined ? undefined : await this.#entities.find(KIND, id);
    return checkAccessToken(sent, () => entity?.body, this.#now());
  }
}

function toValid(id: string, body: EntityBody, nowMs: number): AccessToken | undefined {
  const token = toToken({ id, body });
  return isExpired(token, nowMs) ? undefined : token;
}

function isExpired({ expiresAtMs }: AccessToken, nowMs: number): boolean {
  return expiresAtMs !== undefined && nowMs >= expiresAtMs;
}

function toToken({ id, body }: Pick<Entity, "id" | "body">): AccessToken {
  const { name, role, createdAtMs, expiresAtMs } = body as unknown as AccessToken;
  return { id, name, role, createdAtMs, expiresAtMs };
}
