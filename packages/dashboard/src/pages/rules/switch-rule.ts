// The kill switch of a rule, or of all rules. With a control plane it holds on every node; without one, on this node. A
// switch that was set for this node alone comes before that of the control plane, so it ends with every change made here.

import { ApiError, ask } from "../../api/client.js";

/** The id of the switch for all rules. */
export const ALL_RULES = "*";

/** What a rule is switched to. */
export type SwitchTo = "on" | "off" | "deny";

/** What is switched, and why. */
export interface SwitchRequest {
  /** The id of a rule, or {@link ALL_RULES}. */
  readonly id: string;
  readonly to: SwitchTo;
  readonly reason: string;
  /** Whether there is a switch for it already. */
  readonly isSwitched: boolean;
  readonly hasControl: boolean;
}

/** @throws ApiError */
export async function switchRule(request: SwitchRequest): Promise<void> {
  const { id, to, reason, isSwitched, hasControl } = request;
  const part = encodeURIComponent(id);
  if (!hasControl) {
    const verb = to === "on" ? "enable" : "disable";
    const rules = id === ALL_RULES ? "/v1/rules" : `/v1/rules/${part}`;
    await ask("rules", `${rules}/${verb}`, { method: "POST", body: { reason } });
    return;
  }
  const path = `/v1/switches/${part}`;
  await endNodeSwitch(id, reason);
  if (to === "on") {
    await removeSwitch(path, reason);
    return;
  }
  const put = { method: "PUT", body: { state: to, reason } } as const;
  try {
    await ask("switch", path, isSwitched ? { ...put, ifMatch: "*" } : put);
  } catch (error) {
    // Another operator switched it meanwhile: what was asked for holds regardless.
    if (!(error instanceof ApiError) || (error.status !== 428 && error.status !== 409)) throw error;
    await ask("switch", path, isSwitched ? put : { ...put, ifMatch: "*" });
  }
}

/** Without a switch at this node it does nothing. */
async function endNodeSwitch(id: string, reason: string): Promise<void> {
  const { items } = await ask("nodeSwitches", "/v1/node/switches");
  if (!items.some(({ rule }) => rule === id)) return;
  await removeSwitch(`/v1/node/switches/${encodeURIComponent(id)}`, reason);
}

/** The switch may have been set for the node alone, or be gone meanwhile: what was asked for holds regardless. */
async function removeSwitch(path: string, reason: string): Promise<void> {
  try {
    await ask("removed", path, { method: "DELETE", body: { reason } });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
  }
}
