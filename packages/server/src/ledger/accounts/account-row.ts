// Accounts as the database keeps them.

import type { Row } from "../../database/database.js";
import type { AccountSpec } from "./account-spec.js";

/** An account as the database keeps it. */
export interface AccountRow extends Row {
  readonly id: string;
  readonly meter: string;
  readonly part: number;
  readonly subject: string;
  readonly starts_at_ms: number;
  readonly ends_at_ms: number;
  readonly quota: number;
  readonly balance: number;
  readonly state: string;
  readonly sequence: number;
  readonly hash: string;
}

/** An account together with the block of its subject, as `read-accounts.sql` has it. */
export interface ReadAccountRow extends AccountRow {
  /** 0 if there is none, -1 if it lasts until it is lifted. */
  readonly blocked_until_ms: number;
}

/** When the block of a subject ends: 0 without a block, Infinity if it lasts until it is lifted. */
export function blockEndMs({ blocked_until_ms: untilMs }: ReadAccountRow): number {
  return untilMs < 0 ? Number.POSITIVE_INFINITY : untilMs;
}

/** The state of an account that has no entry yet. */
export const EMPTY_STATE = JSON.stringify({ grants: [], debt: 0 });

/** The row of an account that has no entry yet. */
export function emptyRow({ id, name, endsAtMs }: AccountSpec): AccountRow {
  return {
    id,
    meter: name.meter,
    part: name.part,
    subject: name.subject,
    starts_at_ms: name.startsAtMs,
    ends_at_ms: endsAtMs,
    quota: 0,
    balance: 0,
    state: EMPTY_STATE,
    sequence: 0,
    hash: "",
  };
}
