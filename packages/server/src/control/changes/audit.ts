// The audit log: who changed what, when, from where and why, with what it said before and after. It is written in the
// transaction of the change itself. Each row carries a hash over its content and the hash of the row before it, so a
// row that is altered, removed or inserted later breaks the chain from there on.

import { createHash } from "node:crypto";
import { nextTurn } from "../../base/clock.js";
import type { Reader, Row, SqlValue } from "../../database/database.js";
import { statements } from "../sql/statements.js";
import { ENTITY_KINDS, type EntityBody, type EntityKind } from "./entity.js";

/** What can be done that changes no entity: only the log has it, and nodes pass over it. */
export type ActKind = "counter" | "quota" | "node-switch" | "webhook-delivery" | "region";

/** What entries can be about. */
export const AUDIT_KINDS = [
  ...ENTITY_KINDS,
  "counter",
  "quota",
  "webhook-delivery",
  "region",
  "node-switch",
] as const satisfies readonly AuditKind[];

/** What an entry is about. */
export type AuditKind = EntityKind | ActKind;

/** One row of the log: one entity that one change wrote, or something that was done to a counter. */
export interface AuditEntry {
  /** Consecutive over all changes, from 1. */
  readonly sequence: number;
  /** The change that it is part of. */
  readonly changeId: string;
  /** Its place among the entries of that change, from 0. */
  readonly part: number;
  readonly atMs: number;
  /** Who: the name of an access token, or of a part of the service. */
  readonly actor: string;
  /** From where: an address, or `local`. */
  readonly origin: string;
  /** What was done: `publish`, `revoke`. */
  readonly action: string;
  readonly kind: AuditKind;
  readonly entityId: string;
  readonly reason: string;
  /** Undefined: it was not there. */
  readonly before: EntityBody | undefined;
  /** Undefined: it is gone. */
  readonly after: EntityBody | undefined;
  readonly hash: string;
}

/** What `verifyAudit` found. */
export interface AuditReport {
  /** Rows that were read. */
  readonly rows: number;
  /** The first thing that is wrong; undefined if the chain is whole. */
  readonly problem?: string | undefined;
}

/** A row of the table. */
export interface AuditRow extends Row {
  readonly sequence: number;
  readonly change_id: string;
  readonly part: number;
  readonly at_ms: number;
  readonly actor: string;
  readonly origin: string;
  readonly action: string;
  readonly kind: string;
  readonly entity_id: string;
  readonly reason: string;
  readonly body_before: string | null;
  readonly body_after: string | null;
  readonly previous_hash: string;
  readonly hash: string;
}

const COLUMNS = [
  "sequence",
  "change_id",
  "part",
  "at_ms",
  "actor",
  "origin",
  "action",
  "kind",
  "entity_id",
  "reason",
  "body_before",
  "body_after",
  "previous_hash",
] as const satisfies readonly (keyof AuditRow)[];

const PAGE_ROWS = 500;
/** Bodies that are read together, in bytes; a longer one alone. Decisions wait while they are read. */
const BODY_BYTES_MAX = 2 ** 21;
const PAGE_DEFAULT = 100;

/** The hash of a row, over everything in it, the hash before it included. */
export function hashOf(row: Omit<AuditRow, "hash">): string {
  const content = COLUMNS.map((column) => row[column]);
  return createHash("sha256").update(JSON.stringify(content)).digest("hex");
}

/** The values of a row, in the order in which `append-audit.sql` takes them. */
export function toValues(row: AuditRow): SqlValue[] {
  return [...COLUMNS.map((column) => row[column]), row.hash];
}

/** A row as the rest of the control plane reads it. */
export function toEntry(row: AuditRow): AuditEntry {
  return {
    sequence: row.sequence,
    changeId: row.change_id,
    part: row.part,
    atMs: row.at_ms,
    actor: row.actor,
    origin: row.origin,
    action: row.action,
    kind: row.kind as AuditKind,
    entityId: row.entity_id,
    reason: row.reason,
    before: row.body_before === null ? undefined : JSON.parse(row.body_before),
    after: row.body_after === null ? undefined : JSON.parse(row.body_after),
    hash: row.hash,
  };
}

/** Which entries are listed, the latest first. */
export interface AuditPage {
  /** Only those before this sequence number. Default: from the latest. */
  readonly before?: number | undefined;
  readonly kind?: string | undefined;
  readonly entityId?: string | undefined;
  readonly actor?: string | undefined;
  /** What was done: `publish`. */
  readonly action?: string | undefined;
  /** From this time on, in Unix milliseconds. */
  readonly fromMs?: number | undefined;
  /** Up to, but not including, this time. */
  readonly toMs?: number | undefined;
  /** At most this many; default 100. */
  readonly limit?: number | undefined;
  /** Whether entries have `before` and `after`. Default true. */
  readonly hasBodies?: boolean | undefined;
}

/**
 * A page of the log, the latest entry first. With their bodies, fewer entries than were asked for may come: those of
 * the first two megabytes, and at least one.
 */
export async function searchAudit(reader: Reader, page: AuditPage = {}): Promise<AuditEntry[]> {
  const { before = Number.MAX_SAFE_INTEGER, kind = "", entityId = "", actor = "" } = page;
  const { action = "", fromMs = 0, toMs = Number.MAX_SAFE_INTEGER, limit = PAGE_DEFAULT } = page;
  const search = (count: number, bodies: "all" | "none") =>
    reader.query<AuditRow & Sized>(statements.searchAudit, [
      before,
      kind,
      entityId,
      actor,
      count,
      action,
      fromMs,
      toMs,
      bodies,
    ]);
  const bare = await search(limit, "none");
  if (page.hasBodies === false) return bare.map(toEntry);
  const count = countFitting(bare);
  return count === 0 ? [] : (await search(count, "all")).map(toEntry);
}

/**
 * The entries after a number, in their order: no more than can be read in one go, and none only if there are none.
 *
 * @param rowsMax - At most this many.
 */
export async function listAudit(
  reader: Reader,
  after: number,
  rowsMax: number,
): Promise<AuditRow[]> {
  const sizes = await reader.query<Sized>(statements.listAuditSizes, [after, rowsMax]);
  const count = countFitting(sizes);
  return count === 0 ? [] : reader.query<AuditRow>(statements.listAudit, [after, count]);
}

/** How long the bodies of a row are. */
interface Sized extends Row {
  readonly sequence: number;
  readonly bytes: number;
}

/** How many rows can be read together: at least one, if there is one. */
function countFitting(rows: readonly Sized[]): number {
  let bytes = 0;
  const end = rows.findIndex((row) => {
    bytes += row.bytes;
    return bytes > BODY_BYTES_MAX;
  });
  return end === -1 ? rows.length : Math.max(1, end);
}

/** Reads the whole log and checks every hash, every number, and that its end is where the head says. */
export async function verifyAudit(reader: Reader): Promise<AuditReport> {
  let rows = 0;
  let hash = "";
  for (;;) {
    const page = await listAudit(reader, rows, PAGE_ROWS);
    if (page.length === 0) break;
    for (const row of page) {
      const problem = findProblem(row, rows + 1, hash);
      if (problem !== undefined) return { rows, problem };
      rows++;
      hash = row.hash;
    }
    await nextTurn();
  }
  const [head] = await reader.query<{ sequence: number; hash: string }>(statements.readHead);
  if (head?.sequence === rows && head.hash === hash) return { rows };
  return { rows, problem: `the log ends at ${rows}, and the last change was ${head?.sequence}` };
}

function findProblem(row: AuditRow, expected: number, previousHash: string): string | undefined {
  if (row.sequence !== expected) return `entry ${expected} is missing`;
  if (row.previous_hash !== previousHash)
    return `entry ${expected} does not follow the one before it`;
  return row.hash === hashOf(row) ? undefined : `entry ${expected} was altered`;
}
