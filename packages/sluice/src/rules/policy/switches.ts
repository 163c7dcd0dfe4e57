// Switches: what operators have set a rule, or all rules, to, regardless of what the rules say. They stay when the
// rules are replaced.

import { SluiceError, show } from "../../base/errors.js";

/**
 * `on`: as the rules say. `off`: requests pass and nothing is counted. `deny`: every request that the rule is about is
 * refused, and nothing is counted.
 */
export type SwitchState = "on" | "off" | "deny";

/** Switches that are not on. Plain JSON. */
export interface SwitchStates {
  /** The switch of all rules. */
  readonly all: SwitchState;
  /** The switches of single rules, including rules that are no longer in force. */
  readonly rules: readonly RuleSwitch[];
}

/** The switch of one rule. */
export interface RuleSwitch {
  readonly rule: string;
  readonly state: "off" | "deny";
}

/** This many rules can be switched at a time. */
const SWITCHES_MAX = 100_000;
const STATES: readonly SwitchState[] = ["on", "off", "deny"];

/** The switches of a policy. */
export class Switches {
  all: SwitchState = "on";
  #rules = new Map<string, "off" | "deny">();

  /** Switches in these states. */
  static of(states: SwitchStates): Switches {
    const switches = new Switches();
    switches.setAll(states);
    return switches;
  }

  of(ruleId: string): SwitchState {
    return this.#rules.get(ruleId) ?? "on";
  }

  get states(): SwitchStates {
    const rules = [...this.#rules].map(([rule, state]) => ({ rule, state }));
    return { all: this.all, rules };
  }

  /** Switches a rule, or everything if `ruleId` is undefined. */
  set(ruleId: string | undefined, state: SwitchState): void {
    mustBeState(state);
    if (ruleId === undefined) this.all = state;
    else if (state === "on") this.#rules.delete(ruleId);
    else {
      if (!this.#rules.has(ruleId)) mustFit(this.#rules.size + 1);
      this.#rules.set(ruleId, state);
    }
  }

  /** Puts all switches to these states; rules that are not listed are on. */
  setAll({ all, rules }: SwitchStates): void {
    mustBeState(all);
    mustFit(rules.length);
    for (const { state } of rules) mustBeState(state);
    this.all = all;
    this.#rules = new Map(rules.map(({ rule, state }) => [rule, state]));
  }
}

function mustBeState(state: unknown): void {
  if (STATES.includes(state as SwitchState)) return;
  const seen = `a switch is one of ${STATES.join(", ")}, got ${show(state)}`;
  throw new SluiceError("SLUICE_OPTION_INVALID", seen);
}

function mustFit(count: number): void {
  if (count <= SWITCHES_MAX) return;
  const seen = `at most ${SWITCHES_MAX} rules can be switched at a time, got ${count}`;
  throw new SluiceError("SLUICE_OPTION_INVALID", seen);
}

/** The event of a switch that is set to a state. */
export const EVENT_OF = { on: "enabled", off: "disabled", deny: "denied" } as const;
