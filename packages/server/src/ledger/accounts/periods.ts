// What happens to an account over time: it opens with the quota of its period, takes over what is left of the
// previous period, loses grants that expire, and follows a quota that changes in mid-period.

import type { Account, Writer } from "./account.js";
import type { AccountSpec } from "./account-spec.js";
import { QUOTA_GRANT } from "./grants.js";

/** Opens an account: the quota of the period, what is carried over, and what was used if the periods overlap. */
export function openAccount(
  account: Account,
  spec: AccountSpec,
  previous: Account | undefined,
  writer: Writer,
): void {
  const { capacity } = spec.limit;
  const expiresAtMs = account.endsAtMs;
  const details = { quota: capacity };
  account.changeQuota(capacity, 0);
  account.grant(writer, { amount: capacity, idempotencyKey: "open", expiresAtMs, details });
  if (previous === undefined) return;
  carryUsed(account, previous, writer);
  carryTopUps(account, previous, writer);
  carryQuota(account, previous, { writer, carryOverMax: spec.durable.carryOverMax });
}

/** Ends grants that have expired, and applies another quota. */
export function catchUp(account: Account, spec: AccountSpec, writer: Writer): void {
  endExpired(account, writer);
  const { limit } = spec;
  if (limit.capacity === account.quota) return;
  const difference = limit.capacity - account.quota;
  const share = limit.prorate === true ? shareLeft(account, writer.atMs) : 1;
  const amount = account.changeQuota(limit.capacity, Math.trunc(difference * share));
  account.append(writer, {
    kind: "adjust",
    amount,
    idempotencyKey: `quota:${account.sequence + 1}`,
    details: { quota: limit.capacity },
  });
}

/** Ends top-ups, and what was carried over, that have expired. */
export function endExpired(account: Account, writer: Writer): void {
  for (const { sequence, expiresAtMs } of [...account.grants]) {
    if (sequence !== QUOTA_GRANT && expiresAtMs <= writer.atMs) endGrant(account, sequence, writer);
  }
}

/** The share of the period that is still to come. */
function shareLeft({ name, endsAtMs }: Account, nowMs: number): number {
  const share = (endsAtMs - nowMs) / (endsAtMs - name.startsAtMs);
  return Math.min(1, Math.max(0, share));
}

/** Another time zone or billing day makes a period that overlaps the one before: what was used there stays used. */
function carryUsed(account: Account, previous: Account, writer: Writer): void {
  if (previous.endsAtMs <= account.name.startsAtMs) return;
  const used = Math.min(account.balance, Math.max(0, previous.used));
  if (used === 0) return;
  const details = { carriedFromMs: previous.name.startsAtMs };
  account.append(writer, { kind: "adjust", amount: -used, idempotencyKey: "carry:used", details });
  account.draw(used);
}

/** Top-ups last until they expire, whatever period it is. */
function carryTopUps(account: Account, previous: Account, writer: Writer): void {
  for (const { sequence, expiresAtMs } of [...previous.grants]) {
    if (sequence === QUOTA_GRANT) continue;
    const left = endGrant(previous, sequence, writer);
    if (left === 0 || expiresAtMs <= writer.atMs) continue;
    const idempotencyKey = `carry:${sequence}`;
    const details = { carriedFromMs: previous.name.startsAtMs };
    account.grant(writer, { amount: left, idempotencyKey, expiresAtMs, details });
  }
}

/** What is unused of the period's quota, up to the units that the meter allows, for one more period. */
function carryQuota(
  account: Account,
  previous: Account,
  { writer, carryOverMax }: { writer: Writer; carryOverMax: number },
): void {
  if (carryOverMax === 0 || previous.endsAtMs > account.name.startsAtMs) return;
  const left = previous.grants.find(({ sequence }) => sequence === QUOTA_GRANT)?.left ?? 0;
  const amount = Math.min(carryOverMax, left);
  if (amount === 0) return;
  endGrant(previous, QUOTA_GRANT, writer);
  const details = { carriedFromMs: previous.name.startsAtMs };
  const expiresAtMs = account.endsAtMs;
  account.grant(writer, { amount, idempotencyKey: "carry:quota", expiresAtMs, details });
}

/** Ends a grant with an entry. Returns what was left of it. */
function endGrant(account: Account, sequence: number, writer: Writer): number {
  const left = account.endGrant(sequence);
  const entry = { kind: "expire", amount: 0 - left, settles: sequence } as const;
  if (left > 0) account.append(writer, { ...entry, idempotencyKey: `expire:${sequence}` });
  return left;
}
