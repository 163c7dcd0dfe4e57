// Puts the state of the control plane in force in the policies of this process, by the kinds of entities that changed.
// What can't be used changes nothing, and is reported and counted, as with a file of rules.

import { callerBlocks, type Policy, type RuleSet, withExceptions } from "sluice/rules";
import {
  parseWritten,
  type RulesHolder,
  replaceAll,
  type WrittenRules,
} from "../../core/rules-in-force.js";
import type { Unsubscribe } from "../../database/database.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import { ENTITY_KINDS, type EntityKind } from "../entities/entities.js";
import type { NodeSwitches } from "./node-switches.js";
import {
  blockedSubjectsOf,
  exceptionsOf,
  publishedRules,
  suspendedTenantsOf,
  switchesOf,
  tenantProfileOf,
} from "./policy-inputs.js";
import type { ControlState, OnChanged } from "./state.js";

/** A state that reports its changes: a node, or a worker's copy. */
export interface ChangingState {
  readonly state: ControlState;
  /** Switches of this node alone. Default: none. */
  readonly nodeSwitches?: NodeSwitches;
  onChanged(listener: OnChanged): Unsubscribe;
}

/** Options of {@link EnforcedState}. */
export interface EnforcedStateOptions {
  readonly source: ChangingState;
  /** Those that are most likely to refuse rules first. */
  readonly policies: readonly Policy[];
  readonly telemetry: Telemetry;
  /** What this process makes of the rules, exceptions included, before it puts them in force. Default: nothing. */
  readonly adapt?: ((rules: RuleSet, written: WrittenRules) => RuleSet) | undefined;
}

/** Keeps a state in force until it is closed. */
export class EnforcedState implements RulesHolder {
  readonly #options: EnforcedStateOptions;
  readonly #stop: Unsubscribe;
  /** The published rules, so that they are parsed once and not for every plan or override that changes. */
  #parsed: { readonly text: string; readonly rules: RuleSet } | undefined;

  /** The tenants that were suspended when callers were blocked last. */
  #suspended = "";

  constructor(options: EnforcedStateOptions) {
    this.#options = options;
    this.#stop = options.source.onChanged((kinds) => this.#apply(kinds));
    const { policies, source } = options;
    for (const policy of policies) {
      policy.describeTenants((tenant) => tenantProfileOf(source.state, tenant));
    }
    // It may have changed since the policies were made by it.
    this.#apply(new Set(ENTITY_KINDS));
  }

  get written(): WrittenRules {
    return publishedRules(this.#options.source.state);
  }

  /** Puts the published rules in force again; what the configuration says of rules is not used. */
  reload(): void {
    this.#parsed = undefined;
    this.#replaceRules();
  }

  inspect(): void {}

  close(): void {
    this.#stop();
  }

  /** Never throws: the state has changed already, and what follows must not be lost with it. */
  #apply(kinds: ReadonlySet<EntityKind>): void {
    const hasAny = (...some: readonly EntityKind[]) => some.some((kind) => kinds.has(kind));
    if (hasAny("rule-set", "override", "plan")) this.#try(() => this.#replaceRules());
    if (hasAny("block") || (hasAny("tenant") && this.#hasOtherSuspended()))
      this.#try(() => this.#blockCallers());
    if (hasAny("switch")) this.#try(() => this.#setSwitches());
  }

  #replaceRules(): void {
    const { policies, telemetry, source, adapt } = this.#options;
    const exceptions = exceptionsOf(source.state);
    const published = withExceptions(this.#parse(), exceptions, { unknownRules: "ignore" });
    const rules = adapt?.(published, this.written) ?? published;
    if (rules.version === policies[0].version) return;
    replaceAll(policies, rules);
    telemetry.reloaded("rules");
  }

  #parse(): RuleSet {
    const { written } = this;
    const text = JSON.stringify(written);
    if (this.#parsed?.text !== text) this.#parsed = { text, rules: parseWritten(written) };
    return this.#parsed.rules;
  }

  /** Most changes of tenants suspend none, and a long list of blocks takes long to make. */
  #hasOtherSuspended(): boolean {
    const suspended = suspendedTenantsOf(this.#options.source.state);
    return suspended.join() !== this.#suspended;
  }

  #blockCallers(): void {
    const { policies, source } = this.#options;
    this.#suspended = suspendedTenantsOf(source.state).join();
    const blocked = blockedSubjectsOf(source.state);
    const blocks = blocked.length === 0 ? undefined : callerBlocks(blocked);
    for (const policy of policies) policy.blockCallers(blocks);
  }

  #setSwitches(): void {
    const { policies, source } = this.#options;
    const published = switchesOf(source.state);
    const switches = source.nodeSwitches?.over(published) ?? published;
    for (const policy of policies) policy.setSwitches(switches);
  }

  #try(apply: () => void): void {
    try {
      apply();
    } catch (error) {
      this.#options.telemetry.reloaded("rules", error);
    }
  }
}
