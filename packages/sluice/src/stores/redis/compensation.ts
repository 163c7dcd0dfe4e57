// Requests across identities in a Cluster, where no single call can decide them: each identity is
// charged by itself, and if one refuses, the others are refunded. In between a charge may be seen
// by others, and a crash may leave it; there is never a free pass.

import type { Verdict } from "../../base/decision.js";
import type { Charge, ChargeReceipt, DecideOptions, Outcome, Settling } from "../store.js";

/** The charges of one identity. */
export interface ChargeGroup {
  readonly members: readonly Charge[];
}

/** How a group is decided and refunded. */
export interface GroupStore {
  ask(charges: readonly Charge[], options: DecideOptions): Promise<Outcome>;
  settle(settlings: readonly Settling[]): Promise<void>;
}

/** Decides all groups in parallel; refunds what was charged unless all enforced charges pass. */
export async function decideAcross(
  charges: readonly Charge[],
  groups: readonly ChargeGroup[],
  options: DecideOptions,
  { ask, settle }: GroupStore,
): Promise<Outcome> {
  const { hold = false } = options;
  const how: DecideOptions = { ...options, hold: hold === false ? "briefly" : hold };
  const answers = await Promise.allSettled(groups.map(({ members }) => ask(members, how)));
  const outcomes = answers.filter((answer) => answer.status === "fulfilled");
  const failed = answers.find((answer) => answer.status === "rejected");
  const allowed = failed === undefined && outcomes.every(({ value }) => value.allowed);
  if (!allowed) {
    await refund(
      outcomes.flatMap(({ value }) => value.receipts),
      settle,
    );
  }
  if (failed !== undefined) throw failed.reason;
  const verdicts = new Map<Charge, Verdict>();
  for (const [i, { value }] of outcomes.entries()) {
    for (const [c, charge] of groups[i].members.entries()) {
      const verdict = value.verdicts[c];
      const isBack = !allowed && value.allowed && verdict.allowed;
      verdicts.set(charge, isBack ? withBack(verdict, charge.cost) : verdict);
    }
  }
  return {
    allowed,
    verdicts: charges.map((charge) => verdicts.get(charge) as Verdict),
    receipts: allowed && hold !== false ? outcomes.flatMap(({ value }) => value.receipts) : [],
  };
}

async function refund(
  receipts: readonly ChargeReceipt[],
  settle: GroupStore["settle"],
): Promise<void> {
  if (receipts.length === 0) return;
  try {
    await settle(receipts.map((receipt) => ({ receipt, kept: 0, nowMs: 0 })));
  } catch {
    // The answer stands regardless; what could not be refunded stays spent, as after a crash.
  }
}

/** The verdict of a charge that was refunded: its units are available again. */
function withBack(verdict: Verdict, cost: number): Verdict {
  return { ...verdict, remaining: Math.min(verdict.limit, verdict.remaining + cost) };
}
