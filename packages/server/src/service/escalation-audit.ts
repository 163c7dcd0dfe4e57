// Blocks that escalations made, in the audit log of the control plane. They are written one after the other, and a bounded
// number of them waits: a flood of blocks must not become a flood of writes.

import type { CallerEscalated } from "sluice/rules";
import { randomId } from "../base/random-id.js";
import type { ControlPlane } from "../control/control-plane.js";
import type { Telemetry } from "../telemetry/telemetry.js";

/** Blocks that wait to be written; further ones are in the log only. */
const WAITING_MAX = 1_000;
const ID_BYTES = 16;
const FAILED = "an escalation could not be written into the audit log";

/** Writes blocks into the audit log; undefined on nodes without the database of the control plane. */
export function auditEscalations(
  plane: Pick<ControlPlane, "record"> | undefined,
  telemetry: Pick<Telemetry, "problem">,
): ((event: CallerEscalated) => void) | undefined {
  if (plane === undefined) return undefined;
  const waiting: CallerEscalated[] = [];
  let isWriting = false;
  const writeAll = async () => {
    isWriting = true;
    for (let event = waiting.shift(); event !== undefined; event = waiting.shift()) {
      const { rule, key, level, blockMs } = event;
      const change = {
        id: randomId(ID_BYTES),
        actor: "escalation",
        origin: "local",
        reason: `refused too often, level ${level}`,
      };
      const details = { rule, key, level, blockMs };
      const act = { action: "escalate", kind: "counter", id: `${rule} ${key}`, details } as const;
      await plane.record(change, act).catch((error) => telemetry.problem(FAILED, error));
    }
    isWriting = false;
  };
  return (event) => {
    if (waiting.length >= WAITING_MAX) {
      telemetry.problem(FAILED, undefined, { rule: event.rule, waiting: WAITING_MAX });
      return;
    }
    waiting.push(event);
    if (!isWriting) void writeAll();
  };
}
