// Changes: the only way in which the control plane writes. A change is a list of edits that happen together, with
// their audit entries, under the next sequence numbers. It has an id, so that it is applied once, however often a
// lost connection makes us send it.

import { pause, readMs, wallMs } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import { type AuditEntry, type AuditRow, hashOf, toEntry, toValues } from "./audit.js";
import type { Database, Transaction } from "./database/database.js";
import { Entities, type Entity, type EntityBody, type EntityKind } from "./entities.js";
import { statements } from "./sql/statements.js";

/** Who asks for a change, and why. */
export interface ChangeRequest {
  /** Unique; a change that is sent again with the same id is not applied again. */
  readonly id: string;
  readonly actor: string;
  /** From where: an address, or `local`. */
  readonly origin: string;
  readonly reason: string;
}

/** One entity that a change writes. */
export interface Edit {
  /** What is done, for the audit log: `create`, `publish`, `revoke`. */
  readonly action: string;
  readonly kind: EntityKind;
  readonly id: string;
  /** Default: what it is now. */
  readonly parent?: string | undefined;
  /** What it says from now on; undefined deletes it. */
  readonly body: EntityBody | undefined;
  /** The revision that was edited; 0 if it must not be there yet. Default: whatever it is. */
  readonly revision?: number | undefined;
}

/** An edit of something that is not what the editor saw. */
export class ConflictError extends ServerError {
  override readonly name: string = "ConflictError";
  /** What is there now; undefined if nothing is. */
  readonly current: Entity | undefined;

  constructor({ kind, id, revision }: Edit, current: Entity | undefined) {
    const now = current === undefined ? "does not exist" : `is at revision ${current.revision}`;
    super(
      "SLUICE_CONFLICT",
      `${kind} "${id}" ${now}, and the edit was made to revision ${revision}`,
    );
    this.current = current;
  }
}

/** How long a change is tried again while the database is away. */
const RETRY_MS_MAX = 10_000;
const RETRY_PAUSE_MS = 200;

/** Options of {@link Changes}. */
export interface ChangesOptions {
  /** Default 10,000. */
  readonly retryMsMax?: number;
  /** Default: the wall clock. */
  readonly now?: () => number;
}

/** Applies changes. */
export class Changes {
  readonly #database: Database;
  readonly #retryMsMax: number;
  readonly #now: () => number;

  constructor(
    database: Database,
    { retryMsMax = RETRY_MS_MAX, now = wallMs }: ChangesOptions = {},
  ) {
    this.#database = database;
    this.#retryMsMax = retryMsMax;
    this.#now = now;
  }

  /**
   * Applies a change, and returns its audit entries.
   *
   * @param plan - Says what is edited. It sees everything as the change before left it, and may run more than once.
   * @throws {@link ConflictError}, what `plan` throws, or `SLUICE_DATABASE_UNAVAILABLE` if the database stays away.
   */
  async apply(
    request: ChangeRequest,
    plan: (entities: Entities) => Promise<readonly Edit[]> | readonly Edit[],
  ): Promise<readonly AuditEntry[]> {
    const endMs = readMs() + this.#retryMsMax;
    for (;;) {
      try {
        return await this.#database.transaction((tx) => this.#applyOnce(tx, request, plan));
      } catch (error) {
        const isAway = error instanceof ServerError && error.code === "SLUICE_DATABASE_UNAVAILABLE";
        if (!isAway || readMs() >= endMs) throw error;
      }
      await pause(RETRY_PAUSE_MS);
    }
  }

  async #applyOnce(
    tx: Transaction,
    request: ChangeRequest,
    plan: (entities: Entities) => Promise<readonly Edit[]> | readonly Edit[],
  ): Promise<readonly AuditEntry[]> {
    const [head] = await tx.query<{ sequence: number; hash: string }>(statements.lockHead);
    if (head === undefined) throw new ServerError("SLUICE_DATABASE_FAILED", "the head is missing");
    // Behind the lock, an earlier attempt whose answer was lost has either happened or never will.
    const done = await tx.query<AuditRow>(statements.readChange, [request.id]);
    if (done.length > 0) return done.map(toEntry);
    const entities = new Entities(tx);
    const edits = await plan(entities);
    const rows: AuditRow[] = [];
    let { sequence, hash } = head;
    for (const [part, edit] of edits.entries()) {
      const before = await entities.find(edit.kind, edit.id);
      checkRevision(edit, before);
      sequence++;
      await write(tx, edit, before, sequence);
      const row = toRow(request, edit, { before, part, sequence, hash, atMs: this.#now() });
      await tx.query(statements.appendAudit, toValues(row));
      rows.push(row);
      hash = row.hash;
    }
    if (rows.length === 0) return [];
    await tx.query(statements.writeHead, [sequence, hash]);
    await tx.announce();
    return rows.map(toEntry);
  }
}

function checkRevision(edit: Edit, before: Entity | undefined): void {
  if (edit.revision === undefined || edit.revision === (before?.revision ?? 0)) return;
  throw new ConflictError(edit, before);
}

async function write(
  tx: Transaction,
  edit: Edit,
  before: Entity | undefined,
  sequence: number,
): Promise<void> {
  const { kind, id, body } = edit;
  if (body === undefined) {
    await tx.query(statements.deleteEntity, [kind, id]);
    return;
  }
  const parent = edit.parent ?? before?.parent ?? null;
  const revision = (before?.revision ?? 0) + 1;
  const values = [kind, id, parent, revision, sequence, JSON.stringify(body)];
  await tx.query(statements.writeEntity, values);
}

interface RowContext {
  readonly before: Entity | undefined;
  readonly part: number;
  readonly sequence: number;
  /** Of the row before. */
  readonly hash: string;
  readonly atMs: number;
}

function toRow(request: ChangeRequest, edit: Edit, context: RowContext): AuditRow {
  const row = {
    sequence: context.sequence,
    change_id: request.id,
    part: context.part,
    at_ms: context.atMs,
    actor: request.actor,
    origin: request.origin,
    action: edit.action,
    kind: edit.kind,
    entity_id: edit.id,
    reason: request.reason,
    body_before: context.before === undefined ? null : JSON.stringify(context.before.body),
    body_after: edit.body === undefined ? null : JSON.stringify(edit.body),
    previous_hash: context.hash,
  };
  return { ...row, hash: hashOf(row) };
}
