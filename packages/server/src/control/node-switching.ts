// Switches rules on this node alone: in all of its processes before it answers, whether or not the database is
// available. The process logs the switch immediately, and a control node adds it to the audit log as soon as the
// database is available.

import { after, wallMs } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import { isDatabaseUnavailable } from "../database/database.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { AuditedAct, ChangeRequest } from "./changes/changes.js";
import type { ControlPlane } from "./control-plane.js";
import type { NodeSwitch, NodeSwitches } from "./state/node-switches.js";

/** How long until an entry of the audit log is tried again. */
const RECORD_AGAIN_MS = 2_000;
/** Entries that wait for the database; what is done beyond them is in the log of the process only. */
const UNRECORDED_MAX = 100;

/** What rules are switched with. */
export interface NodeSwitchingParts {
  /** The name of the node. */
  readonly name: string;
  readonly switches: NodeSwitches;
  /** Undefined on a follower: it has no audit log. */
  readonly plane: ControlPlane | undefined;
  readonly telemetry: Telemetry;
  /** Puts the switches in force in all processes of this node. */
  readonly enforce: () => Promise<void>;
}

/** Switches rules on this node. */
export class NodeSwitching {
  readonly #parts: NodeSwitchingParts;
  #unrecorded = 0;
  #isClosed = false;

  constructor(parts: NodeSwitchingParts) {
    this.#parts = parts;
  }

  /** The switches of this node. */
  list(): NodeSwitch[] {
    return this.#parts.switches.list();
  }

  /** Switches a rule, or all under `*`; resolves when all processes of this node enforce it. */
  async set(
    request: ChangeRequest,
    given: Pick<NodeSwitch, "rule" | "state" | "reason">,
  ): Promise<NodeSwitch> {
    const made = { ...given, actor: request.actor, sinceMs: wallMs() };
    this.#parts.switches.set(made);
    await this.#done(request, given.rule, { ...given });
    return made;
  }

  /** Ends a switch. @throws ServerError `SLUICE_NOT_FOUND` if the rule has no switch on this node. */
  async remove(request: ChangeRequest, rule: string): Promise<void> {
    if (!this.#parts.switches.remove(rule)) {
      const seen = `this node has no switch of its own for ${JSON.stringify(rule)}`;
      throw new ServerError("SLUICE_NOT_FOUND", seen);
    }
    await this.#done(request, rule, { rule, state: "on", reason: request.reason });
  }

  /** Records no more. */
  close(): void {
    this.#isClosed = true;
  }

  async #done(request: ChangeRequest, rule: string, details: AuditedAct["details"]): Promise<void> {
    const { name, telemetry, enforce, plane } = this.#parts;
    const line = { node: name, actor: request.actor, ...details };
    telemetry.log.warn(line, "a rule was switched on this node only");
    await enforce();
    if (plane === undefined) return;
    const id = `${name} ${rule}`;
    const act: AuditedAct = { action: "switch", kind: "node-switch", id, details };
    if (this.#unrecorded >= UNRECORDED_MAX) return;
    this.#unrecorded++;
    void this.#record(plane, request, act);
  }

  async #record(plane: ControlPlane, request: ChangeRequest, act: AuditedAct): Promise<void> {
    if (this.#isClosed) return;
    try {
      await plane.record(request, act);
      this.#unrecorded--;
    } catch (error) {
      if (isDatabaseUnavailable(error))
        after(RECORD_AGAIN_MS, () => void this.#record(plane, request, act));
      else this.#parts.telemetry.problem("a switch of this node is not in the audit log", error);
    }
  }
}
