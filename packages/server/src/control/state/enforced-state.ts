// Puts the state of the control plane in force in the policies of this process, by the kinds of entities that
// changed. An invalid state changes nothing, and is reported and counted, as with a rule file. Long rules are read in
// a thread and compiled in slices, so that decisions continue and other changes don't wait.

import { isDeepStrictEqual } from "node:util";
import {
  callerBlocks,
  type Policy,
  type PreparedRules,
  type RuleSet,
  RulesError,
  type SwitchStates,
  withExceptions,
  withExceptionsInSlices,
} from "sluice/rules";
import { isQuick, readAhead } from "../../core/rules/known-rules.js";
import {
  isSameWritten,
  parseWritten,
  type ReloadableRules,
  replaceAll,
  type WrittenRules,
} from "../../core/rules-in-force.js";
import type { RulesText } from "../../core/rules-text.js";
import type { Unsubscribe } from "../../database/database.js";
import type { Telemetry } from "../../telemetry/telemetry.js";
import type { EntityKind } from "../changes/entity.js";
import type { NodeSwitches } from "./node-switches.js";
import {
  blockedSubjectsOf,
  exceptionsInSlices,
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

/** Rules that were read, and what they were written as. */
interface ReadRules {
  readonly written: WrittenRules;
  readonly rules: RuleSet;
}

/** From this many rules on they are made ready in slices: fewer take a few milliseconds. */
const SLICED_RULES_MIN = 500;
/** The same of overrides, each of which is an exception of a rule. */
const SLICED_OVERRIDES_MIN = 1_000;

/** Keeps a state in force until it is closed. */
export class EnforcedState implements ReloadableRules {
  readonly #options: EnforcedStateOptions;
  readonly #stop: Unsubscribe;
  /** The latest rules that were read, so that they are not read again for every plan or override that changes. */
  #read: ReadRules | undefined;
  /** Long rules that can't be read, so that they are not read again, here, for every switch or reload. */
  #unreadable: { readonly written: WrittenRules; readonly error: RulesError } | undefined;
  /** How often rules, plans or overrides have changed. */
  #ruleChanges = 0;
  /** The rules with their exceptions, as of this many of those changes. */
  #made: { readonly changes: number; readonly rules: RuleSet } | undefined;
  /** Rules that a policy can't use, so that they are not compiled again for every switch; by their version. */
  #unusable: { readonly version: string; readonly error: RulesError } | undefined;
  /** Long rules that are being read; meanwhile everything else continues with those before them. */
  #reading: Promise<void> | undefined;
  /** Many rules are being made ready. */
  #preparing: Promise<void> | undefined;
  #isBehind = false;
  /** What kept many rules from coming into force the last time. */
  #failed: { readonly error: unknown } | undefined;
  #isClosed = false;
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
    this.#try(() => this.#replaceRules());
    this.#try(() => this.#blockCallers());
    this.#try(() => this.#setSwitches());
  }

  get written(): WrittenRules {
    return publishedRules(this.#options.source.state);
  }

  /**
   * Puts the published rules in force again; what the configuration says of rules is not used. Many rules come into force
   * in slices, as when they are published.
   */
  reload(): Promise<void> | undefined {
    this.#unusable = undefined;
    this.#ruleChanges++;
    const latest = [this.#read, this.#unreadable];
    const isRead = latest.some((each) => isSameWritten(each?.written, this.written));
    if (this.#reading === undefined && !isRead && !isReady(this.written)) this.#startReading();
    if (this.#isLong()) return this.#reloadLong();
    this.#replaceRules();
    return undefined;
  }

  inspect(): void {}

  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  /**
   * Puts what changed in force: blocks before it returns, and so switches and rules if there are few; many rules in slices.
   * Never throws or rejects: the state has changed already, and what follows must not be lost with it.
   */
  #apply(kinds: ReadonlySet<EntityKind>): Promise<void> | undefined {
    const hasAny = (...some: readonly EntityKind[]) => some.some((kind) => kinds.has(kind));
    if (hasAny("block") || (hasAny("tenant") && this.#hasOtherSuspended()))
      this.#try(() => this.#blockCallers());
    const isAboutRules = hasAny("rule-set", "override", "plan");
    if (isAboutRules) this.#ruleChanges++;
    if (!isAboutRules && !hasAny("switch")) return undefined;
    if (kinds.has("rule-set") && !isReady(this.written)) this.#startReading();
    if (this.#isLong()) return this.#applyLong(isAboutRules);
    if (isAboutRules) this.#try(() => this.#replaceRules());
    if (hasAny("switch")) this.#try(() => this.#setSwitches());
    return undefined;
  }

  /** Whether what was changed takes long to put in force, or waits for what does. */
  #isLong(): boolean {
    if (this.#reading !== undefined || this.#preparing !== undefined) return true;
    const { policies, source } = this.#options;
    if (source.state.count("override") >= SLICED_OVERRIDES_MIN) return true;
    if (policies[0].rules.rules.length >= SLICED_RULES_MIN) return true;
    try {
      return this.#readRules().rules.rules.length >= SLICED_RULES_MIN;
    } catch {
      // What is wrong with them is reported when they are to come into force.
      return false;
    }
  }

  /** A switch does not wait for rules that are being read. */
  async #applyLong(waitsForRules: boolean): Promise<void> {
    await this.#prepareSoon();
    if (waitsForRules) await this.#reading;
  }

  async #reloadLong(): Promise<void> {
    await this.#applyLong(true);
    if (this.#failed !== undefined) throw this.#failed.error;
  }

  /** Reads long rules in a thread, and puts them in force when they are ready. */
  #startReading(): void {
    const { written } = this;
    const reading: Promise<void> = readAhead(written as RulesText)
      .catch((error) => {
        // If the thread failed, not the rules: they are read here, however long it takes.
        if (error instanceof RulesError) this.#unreadable = { written, error };
        else this.#try(() => parseWritten(written));
      })
      .then(() => {
        if (this.#reading !== reading) return this.#reading;
        this.#reading = undefined;
        this.#ruleChanges++;
        return this.#prepareSoon();
      });
    this.#reading = reading;
  }

  #prepareSoon(): Promise<void> {
    this.#isBehind = true;
    this.#preparing ??= this.#prepareAll().finally(() => {
      this.#preparing = undefined;
    });
    return this.#preparing;
  }

  async #prepareAll(): Promise<void> {
    while (this.#isBehind && !this.#isClosed) {
      this.#isBehind = false;
      try {
        await this.#replaceInSlices(await this.#toRulesInSlices());
        this.#failed = undefined;
      } catch (error) {
        this.#failed = { error };
        // Exceptions may be of the rules that are being read.
        if (this.#reading === undefined) this.#options.telemetry.reloaded("rules", error);
        await this.#switchInSlices();
      }
    }
  }

  /** Switches take effect on the rules in force where those that were published can't be used. */
  async #switchInSlices(): Promise<void> {
    try {
      await this.#replaceInSlices(undefined);
    } catch (error) {
      this.#options.telemetry.reloaded("rules", error);
    }
  }

  /**
   * All policies change in one step, when each of them is ready.
   *
   * @param rules - Undefined: those in force stay, and only switches change.
   */
  async #replaceInSlices(rules: RuleSet | undefined): Promise<void> {
    const { policies, telemetry } = this.#options;
    const switches = this.#toSwitches();
    const other = rules?.version === policies[0].version ? undefined : rules;
    const isSwitched = policies.every((each) => isDeepStrictEqual(switches, each.switches));
    if (other === undefined && isSwitched) return;
    if (other !== undefined && other.version === this.#unusable?.version)
      throw this.#unusable.error;
    const prepared: PreparedRules[] = [];
    for (const policy of policies) {
      prepared.push(await this.#prepare(policy, other, switches));
      if (this.#isClosed) return;
    }
    replaceAll(policies, prepared);
    if (other !== undefined) telemetry.reloaded("rules");
  }

  /** Rules that a policy can't use are not compiled again, for as long as they are published. */
  async #prepare(
    policy: Policy,
    rules: RuleSet | undefined,
    switches: SwitchStates,
  ): Promise<PreparedRules> {
    try {
      return await policy.prepare(rules ?? policy.rules, switches);
    } catch (error) {
      if (rules !== undefined && error instanceof RulesError) {
        this.#unusable = { version: rules.version, error };
      }
      throw error;
    }
  }

  #replaceRules(): void {
    const { policies, telemetry } = this.#options;
    const rules = this.#toRules();
    if (rules.version === policies[0].version) return;
    replaceAll(policies, rules);
    telemetry.reloaded("rules");
  }

  #toRules(): RuleSet {
    const { source, adapt } = this.#options;
    const { rules, written } = this.#readRules();
    const published = withExceptions(rules, exceptionsOf(source.state), { unknownRules: "ignore" });
    return adapt?.(published, written) ?? published;
  }

  /** Those of the last time if only switches have changed since. */
  async #toRulesInSlices(): Promise<RuleSet> {
    const { source, adapt } = this.#options;
    const changes = this.#ruleChanges;
    if (this.#made?.changes === changes) return this.#made.rules;
    const { rules, written } = this.#readRules();
    const exceptions = await exceptionsInSlices(source.state);
    const published = await withExceptionsInSlices(rules, exceptions, { unknownRules: "ignore" });
    const made = adapt?.(published, written) ?? published;
    this.#made = { changes, rules: made };
    return made;
  }

  /** The published rules; those before them while they are being read. */
  #readRules(): ReadRules {
    const { written } = this;
    const { error } = this.#unreadable ?? {};
    if (error !== undefined && isSameWritten(this.#unreadable?.written, written)) throw error;
    const isKept = this.#read !== undefined && this.#reading !== undefined && !isReady(written);
    if (!isKept && !isSameWritten(this.#read?.written, written)) {
      this.#read = { written, rules: parseWritten(written) };
    }
    return this.#read as ReadRules;
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
    const switches = this.#toSwitches();
    for (const policy of this.#options.policies) policy.setSwitches(switches);
  }

  #toSwitches(): SwitchStates {
    const { source } = this.#options;
    const published = switchesOf(source.state);
    return source.nodeSwitches?.over(published) ?? published;
  }

  #try(apply: () => void): void {
    try {
      apply();
    } catch (error) {
      this.#options.telemetry.reloaded("rules", error);
    }
  }
}

function isReady(written: WrittenRules): boolean {
  return "inline" in written || isQuick(written);
}
