// Changes: the only way in which the control plane writes. A change is a list of edits that happen together, with
// their audit entries, under the next sequence numbers. It has an id, so that it is applied once, however often a
// lost connection makes us send it.

import { pause, readMs, wallMs } from "../../base/clock.js";
import { ServerError, serverErrorCatalogue } from "../../base/errors.js";
import {
  type Database,
  isDatabaseUnavailable,
  type Row,
  type Transaction,
} from "../../database/database.js";
import { statements } from "../sql/statements.js";
import {
  type ActKind,
  type AuditEntry,
  type AuditKind,
  type AuditRow,
  hashOf,
  toEntry,
  toValues,
} from "./audit.js";
import { Entities, type Entity, type EntityBody, type EntityKind } from "./entity.js";
import { ACT_KEPT_MS } from "./keyed-acts.js";

/** Who asks for a change, and why. */
export interface ChangeRequest {
  /** Unique; a change that is sent again with the same id is not applied again. */
  readonly id: string;
  /** A hash of the caller's Idempotency-Key: with another change it is refused for a day. Default: it brought none. */
  readonly keyOwner?: string | undefined;
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
  /** What it belongs to; null for nothing. Default: what it belongs to now. */
  readonly parent?: string | null | undefined;
  /** What it says from now on; undefined deletes it. */
  readonly body: EntityBody | undefined;
  /** The revision that was edited; 0 if it must not be there yet. Default: whatever it is. */
  readonly revision?: number | undefined;
}

/** Says what a change edits. */
export type PlanEdits = (entities: Entities) => Promise<readonly Edit[]> | readonly Edit[];

/** Something that was done and changed no entity, such as a counter that was reset: only the audit log has it. */
export interface AuditedAct {
  readonly action: string;
  readonly kind: ActKind;
  /** What it was done to. */
  readonly id: string;
  /** What else there is to say; it becomes `after`. */
  readonly details: EntityBody;
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

const RETRY_MS_MAX = 10_000;
const RETRY_PAUSE_MS = 200;

/** Options of {@link Changes}. */
export interface ChangesOptions {
  /** How long a change is tried again while the database is unavailable. Default 10,000. */
  readonly retryMsMax?: number;
  /** What the caller can do then, for the error. Default: nothing more is said. */
  readonly advice?: string;
  /** Default: the wall clock. */
  readonly now?: () => number;
  /** Resolves when this node enforces the changes up to a sequence number; a change waits for it. Default: no wait. */
  readonly enforce?: ((sequence: number) => Promise<void>) | undefined;
}

/** Applies changes. */
export class Changes {
  readonly #database: Database;
  readonly #retryMsMax: number;
  readonly #advice: string | undefined;
  readonly #now: () => number;
  readonly #enforce: ((sequence: number) => Promise<void>) | undefined;

  constructor(
    database: Database,
    { retryMsMax = RETRY_MS_MAX, now = wallMs, enforce, advice }: ChangesOptions = {},
  ) {
    this.#advice = advice;
    this.#database = database;
    this.#enforce = enforce;
    this.#retryMsMax = retryMsMax;
    this.#now = now;
  }

  /**
   * Applies a change, and returns its audit entries.
   *
   * @param plan - Says what is edited. It sees everything as the change before left it, and may run more than once.
   * @throws {@link ConflictError}, `SLUICE_KEY_REUSED` if the Idempotency-Key came with another change, what `plan`
   *   throws, or `SLUICE_DATABASE_UNAVAILABLE` if the database stays unavailable.
   */
  async apply(request: ChangeRequest, plan: PlanEdits): Promise<readonly AuditEntry[]> {
    const entries = await this.#once(request, async (tx, log) => {
      await this.#claimKey(tx, request);
      const entities = new Entities(tx);
      for (const edit of await plan(entities)) {
        const before = await entities.find(edit.kind, edit.id);
        checkRevision(edit, before);
        await write(tx, edit, before, log.nextSequence);
        await log.append({ ...edit, before: before?.body, after: edit.body });
      }
    });
    const last = entries.at(-1);
    if (last !== undefined) await this.#enforce?.(last.sequence);
    return entries;
  }

  /**
   * Writes something that was done into the audit log, once, however often it is sent.
   *
   * @throws ServerError `SLUICE_DATABASE_UNAVAILABLE` if the database stays unavailable.
   */
  record(request: ChangeRequest, act: AuditedAct): Promise<readonly AuditEntry[]> {
    return this.#once(request, (_, log) =>
      log.append({ ...act, before: undefined, after: act.details }),
    );
  }

  /** A change that is not applied has not claimed its key either. */
  async #claimKey(tx: Transaction, { id, keyOwner }: ChangeRequest): Promise<void> {
    if (keyOwner === undefined) return;
    const nowMs = this.#now();
    await tx.query(statements.forgetActs, [nowMs - ACT_KEPT_MS]);
    const claimed = await tx.query(statements.claimAct, [keyOwner, id, nowMs, null]);
    if (claimed.length > 0) return;
    const [row] = await tx.query<Row & { request: string }>(statements.readAct, [keyOwner]);
    if (row === undefined || row.request === id) return;
    throw new ServerError("SLUICE_KEY_REUSED", "send another key with it");
  }

  /** An attempt that the database does not answer is given up on too; it may still be applied. */
  async #once(
    request: ChangeRequest,
    run: (tx: Transaction, log: AuditAppender) => Promise<void>,
  ): Promise<readonly AuditEntry[]> {
    if (this.#advice === undefined) return this.#tryOften(request, run);
    const trying = this.#tryOften(request, run);
    trying.catch(() => {});
    const seen = `no answer within ${this.#retryMsMax} ms`;
    try {
      return await within(trying, 1.25 * this.#retryMsMax, () => away(seen));
    } catch (error) {
      throw isDatabaseUnavailable(error)
        ? away(`${whatWasSeen(error)}; ${this.#advice}`, error)
        : error;
    }
  }

  async #tryOften(
    request: ChangeRequest,
    run: (tx: Transaction, log: AuditAppender) => Promise<void>,
  ): Promise<readonly AuditEntry[]> {
    const endMs = readMs() + this.#retryMsMax;
    for (;;) {
      try {
        return await this.#database.transaction((tx) => this.#tryOnce(tx, request, run));
      } catch (error) {
        if (!isDatabaseUnavailable(error) || readMs() >= endMs) throw error;
      }
      await pause(RETRY_PAUSE_MS);
    }
  }

  async #tryOnce(
    tx: Transaction,
    request: ChangeRequest,
    run: (tx: Transaction, log: AuditAppender) => Promise<void>,
  ): Promise<readonly AuditEntry[]> {
    const [head] = await tx.query<AuditHead>(statements.lockHead);
    if (head === undefined) throw new ServerError("SLUICE_DATABASE_FAILED", "the head is missing");
    // Behind the lock, an earlier attempt whose answer was lost has either happened or never will.
    const done = await tx.query<AuditRow>(statements.readChange, [request.id]);
    if (done.length > 0) return done.map(toEntry);
    const log = new AuditAppender(tx, { request, head, now: this.#now });
    await run(tx, log);
    return log.end();
  }
}

function away(seen: string, cause?: unknown): ServerError {
  return new ServerError("SLUICE_DATABASE_UNAVAILABLE", seen, { cause });
}

/** What an error says behind its summary, for another one of the same code. */
function whatWasSeen({ code, message }: ServerError): string {
  return message.slice(`${serverErrorCatalogue[code].summary}: `.length);
}

/** What comes of a promise, or an error if nothing does in time. */
async function within<T>(coming: Promise<T>, msMax: number, toError: () => Error): Promise<T> {
  const ended = new AbortController();
  const late = pause(msMax, ended.signal).then(() => Promise.reject(toError()));
  late.catch(() => {});
  try {
    return await Promise.race([coming, late]);
  } finally {
    ended.abort();
  }
}

interface AuditHead extends Row {
  readonly sequence: number;
  readonly hash: string;
}

interface AppenderOptions {
  readonly request: ChangeRequest;
  readonly head: AuditHead;
  readonly now: () => number;
}

/** What one entry says beside who, when and why. */
interface Logged {
  readonly action: string;
  readonly kind: AuditKind;
  readonly id: string;
  readonly before: EntityBody | undefined;
  readonly after: EntityBody | undefined;
}

/** Appends the entries of one change to the log, behind the lock. */
class AuditAppender {
  readonly #tx: Transaction;
  readonly #options: AppenderOptions;
  readonly #rows: AuditRow[] = [];

  constructor(tx: Transaction, options: AppenderOptions) {
    this.#tx = tx;
    this.#options = options;
  }

  /** The number of the entry that is appended next. */
  get nextSequence(): number {
    return this.#last.sequence + 1;
  }

  async append({ action, kind, id, before, after }: Logged): Promise<void> {
    const { request, now } = this.#options;
    const content = {
      sequence: this.nextSequence,
      change_id: request.id,
      part: this.#rows.length,
      at_ms: now(),
      actor: toKept(request.actor),
      origin: toKept(request.origin),
      action,
      kind,
      entity_id: toKept(id),
      reason: toKept(request.reason),
      body_before: before === undefined ? null : JSON.stringify(before),
      body_after: after === undefined ? null : JSON.stringify(after),
      previous_hash: this.#last.hash,
    };
    const row = { ...content, hash: hashOf(content) };
    await this.#tx.query(statements.appendAudit, toValues(row));
    this.#rows.push(row);
  }

  /** Moves the head, announces the change and returns its entries. */
  async end(): Promise<readonly AuditEntry[]> {
    if (this.#rows.length === 0) return [];
    const { sequence, hash } = this.#last;
    await this.#tx.query(statements.writeHead, [sequence, hash]);
    await this.#tx.announce();
    return this.#rows.map(toEntry);
  }

  get #last(): AuditHead {
    return this.#rows.at(-1) ?? this.#options.head;
  }
}

/**
 * For a change that makes a secret, which only the first answer shows.
 *
 * @throws ServerError `SLUICE_CONFLICT` if `id` is not among the entries, because the change was made before.
 */
export function mustBeNew(entries: readonly AuditEntry[], id: string): void {
  if (entries.some(({ entityId }) => entityId === id)) return;
  const seen = "this change was made before, and its secret is not shown again";
  throw new ServerError("SLUICE_CONFLICT", seen);
}

/** NUL, and halves of characters that take two. */
const NOT_KEPT = /[\0\p{Cs}]/gu;

/** A string as every database returns it: a hash over any other would not verify. Bodies are JSON, which escapes these. */
function toKept(text: string): string {
  return text.replace(NOT_KEPT, "\ufffd");
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
  const parent = edit.parent === undefined ? (before?.parent ?? null) : edit.parent;
  // Not a count of edits: it would begin again when something is removed and made again under the same id, and an edit
  // of the one that is gone would replace the other.
  const revision = sequence;
  const values = [kind, id, parent, revision, sequence, JSON.stringify(body)];
  await tx.query(statements.writeEntity, values);
}
