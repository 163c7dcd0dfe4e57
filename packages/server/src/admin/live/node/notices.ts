// What works only in part, in plain sentences: each says what is wrong and what happens to requests meanwhile.

import type { Policy } from "sluice/rules";
import { formatDuration } from "sluice/shapes";
import type { Degraded } from "../../../telemetry/live/live-counts.js";
import type { NodeNotice } from "../../../telemetry/live/node-second.js";

/** So old the state of the control plane may be before it is worth a line. */
const CONTROL_AGE_MS_MAX = 15_000;
/** Rules that are listed one by one. */
const SWITCHES_MAX = 5;

/** What notices are made of. */
export interface NoticeSources {
  readonly degraded: Degraded;
  /** Why the service is not ready, and what is wrong with its stores, in words. */
  readonly reasons: readonly string[];
  readonly policy: Pick<Policy, "rules" | "switches">;
  /** What rules do while the store can't be reached. */
  readonly onFailure: string;
}

/** What an operator has to know now; empty if all is well. */
export function toNotices({ degraded, reasons, policy, onFailure }: NoticeSources): NodeNotice[] {
  return [
    ...reasons.map((reason) => severe(`reason:${reason}`, `${capitalised(reason)}.`)),
    ...(degraded.store ? [severe("store", toStoreText(onFailure))] : []),
    ...(degraded.ledger ? [severe("ledger", LEDGER)] : []),
    ...toSwitchNotices(policy),
    ...degraded.reloads.map((what) => ({
      id: `reload:${what}`,
      isSevere: false,
      text: `The last reload of ${what} failed: what was in force before stays in force. The log says what is wrong.`,
    })),
    ...toControlNotices(degraded.controlAgeMs),
  ];
}

const LEDGER =
  "The ledger does not answer: durable rules decide by their onStoreFailure until it does. By default they refuse requests.";

function toStoreText(onFailure: string): string {
  const what = ON_FAILURE[onFailure] ?? `rules are decided by their onStoreFailure (${onFailure})`;
  return `The store does not answer and its circuit breaker is open: ${what}.`;
}

/** What happens to requests, by `onStoreFailure`. */
const ON_FAILURE: Readonly<Record<string, string>> = {
  __proto__: null as never,
  local: "each node decides by its own counters, with its share of the limits",
  open: "requests pass uncounted",
  closed: "requests are refused",
  throw: "requests fail",
};

function toSwitchNotices({ rules, switches }: NoticeSources["policy"]): NodeNotice[] {
  const notices: NodeNotice[] = [];
  if (!rules.isEnabled)
    notices.push(
      severe("disabled", "The rules in force have enabled: false: every request passes uncounted."),
    );
  if (switches.all === "off")
    notices.push(severe("switch", "All rules are switched off: every request passes."));
  if (switches.all === "deny")
    notices.push(severe("switch", "The kill switch denies every request."));
  for (const { rule, state } of switches.rules.slice(0, SWITCHES_MAX)) {
    const what = state === "deny" ? "refuses every request that it matches" : "is off";
    notices.push({ id: `switch:${rule}`, isSevere: false, text: `The switch of ${rule} ${what}.` });
  }
  const more = switches.rules.length - SWITCHES_MAX;
  if (more > 0) {
    notices.push({
      id: "switches",
      isSevere: false,
      text: `${more} more rules are switched off or to deny.`,
    });
  }
  return notices;
}

function toControlNotices(ageMs: number | null): NodeNotice[] {
  if (ageMs === null || ageMs < CONTROL_AGE_MS_MAX) return [];
  const text = Number.isFinite(ageMs)
    ? `The control plane was last reached ${formatDuration(Math.floor(ageMs / 1_000) * 1_000)} ago: this node enforces what it knew then.`
    : "The control plane has not been reached yet: this node enforces its snapshot.";
  return [{ id: "control", isSevere: true, text }];
}

function severe(id: string, text: string): NodeNotice {
  return { id, isSevere: true, text };
}

function capitalised(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
