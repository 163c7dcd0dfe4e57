// Puts the state of the control plane in force in the policies of this process, by the kinds of entities that changed.
// What can't be used changes nothing, and is reported and counted, as with a file of rules.

import type { Policy, RuleSet } from "sluice/rules";
import {
  parseWritten,
  type RulesHolder,
  replaceAll,
  type WrittenRules,
} from "../core/rules-in-force.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { Unsubscribe } from "./database/database.js";
import type { EntityKind } from "./entities.js";
import { publishedRules } from "./published-rules.js";
import type { ControlState, OnChanged } from "./state.js";

/** A state that reports its changes: a node, or a worker's copy. */
export interface ChangingState {
  readonly state: ControlState;
  onChanged(listener: OnChanged): Unsubscribe;
}

/** Options of {@link EnforcedState}. */
export interface EnforcedStateOptions {
  readonly source: ChangingState;
  /** Those that are most likely to refuse rules first. */
  readonly policies: readonly Policy[];
  readonly telemetry: Telemetry;
  /** How written rules become rules in this process. Default: as they say. */
  readonly parse?: ((written: WrittenRules) => RuleSet) | undefined;
}

/** Keeps a state in force until it is closed. */
export class EnforcedState implements RulesHolder {
  readonly #options: EnforcedStateOptions;
  readonly #stop: Unsubscribe;
  /** The text of the rules in force, so that drafts and rollbacks of others don't replace them. */
  #text: string | undefined;

  constructor(options: EnforcedStateOptions) {
    this.#options = options;
    this.#stop = options.source.onChanged((kinds) => this.#apply(kinds));
    // It may have changed since the policies were made by it.
    this.#replaceRules();
  }

  get written(): WrittenRules {
    return publishedRules(this.#options.source.state);
  }

  /** Puts the published rules in force again; what the configuration says of rules is not used. */
  reload(): void {
    this.#replaceRules();
  }

  inspect(): void {}

  close(): void {
    this.#stop();
  }

  /** Never throws: the state has changed already, and what follows must not be lost with it. */
  #apply(kinds: ReadonlySet<EntityKind>): void {
    if (kinds.has("rule-set")) this.#replaceRules();
  }

  #replaceRules(): void {
    const { policies, telemetry, parse = parseWritten } = this.#options;
    const { written } = this;
    const text = JSON.stringify(written);
    if (text === this.#text) return;
    try {
      const rules = parse(written);
      if (rules.version !== policies[0].version) {
        replaceAll(policies, rules);
        telemetry.reloaded("rules");
      }
      this.#text = text;
    } catch (error) {
      telemetry.reloaded("rules", error);
    }
  }
}
