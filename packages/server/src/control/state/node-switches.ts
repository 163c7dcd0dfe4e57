// Switches of this node alone, which an operator sets while the database is unavailable. They are in memory: they
// apply until they are removed or the node ends, and take precedence over the control plane's switch of the same
// rule.

import type { SwitchStates } from "sluice/rules";
import { ServerError } from "../../base/errors.js";
import { ALL_RULES } from "../entities/switches.js";

/** The switch of a rule on this node. */
export interface NodeSwitch {
  /** The id of a rule, or `*` for all rules. */
  readonly rule: string;
  readonly state: "off" | "deny";
  readonly reason: string;
  /** Who set it. */
  readonly actor: string;
  /** When, by the wall clock. */
  readonly sinceMs: number;
}

const SWITCHES_MAX = 1_000;

/** The switches of a node, or of a process of it. */
export class NodeSwitches {
  #byRule: ReadonlyMap<string, NodeSwitch> = new Map();

  /** All of them, by rule. */
  list(): NodeSwitch[] {
    return [...this.#byRule.values()].sort((a, b) => (a.rule < b.rule ? -1 : 1));
  }

  /** @throws ServerError `SLUICE_CONFLICT` if there are too many. */
  set(given: NodeSwitch): void {
    if (this.#byRule.size >= SWITCHES_MAX && !this.#byRule.has(given.rule)) {
      const seen = `this node has ${SWITCHES_MAX} switches of its own; switch all rules by *`;
      throw new ServerError("SLUICE_CONFLICT", seen);
    }
    this.#byRule = new Map([...this.#byRule, [given.rule, given]]);
  }

  /** False if there was none. */
  remove(rule: string): boolean {
    const rest = new Map(this.#byRule);
    const wasThere = rest.delete(rule);
    this.#byRule = rest;
    return wasThere;
  }

  /** Takes those of the primary. False if they were the same. */
  replace(switches: readonly NodeSwitch[]): boolean {
    const before = JSON.stringify(this.list());
    this.#byRule = new Map(switches.map((each) => [each.rule, each]));
    return JSON.stringify(this.list()) !== before;
  }

  /** What is in force with these: each takes the place of the control plane's switch for the same rule. */
  over({ all, rules }: SwitchStates): SwitchStates {
    if (this.#byRule.size === 0) return { all, rules };
    const own = this.list().filter(({ rule }) => rule !== ALL_RULES);
    return {
      all: this.#byRule.get(ALL_RULES)?.state ?? all,
      rules: [...rules.filter(({ rule }) => !this.#byRule.has(rule)), ...own],
    };
  }
}
