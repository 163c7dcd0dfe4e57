// Makes what the doors of one process share: the store, the policies over it, and telemetry.

import { readFileSync } from "node:fs";
import { type Clock, type Store, systemClock } from "sluice";
import { createPolicy, type Policy, parseRules, type RuleSet } from "sluice/rules";
import type { Config, RulesSource } from "../config/config.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { Core } from "./core.js";
import { type OpenStore, openStore } from "./open-store.js";
import { quietTelemetry } from "./quiet-telemetry.js";

/** What a core may be given instead of making it. */
export interface CoreOptions {
  /** Default: one that says nothing. */
  readonly telemetry?: Telemetry;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Instead of the one that is configured. It stays open when the core is closed. */
  readonly store?: Store;
}

/** A core, and its end. */
export interface OwnedCore extends Core {
  /** Since when the store's answers don't come, in milliseconds of the clock; undefined if they do. */
  storeAwaySinceMs(): number | undefined;
  /** Returns what is leased, then closes the store. */
  close(): Promise<void>;
}

/**
 * The core of a service.
 *
 * @throws What is wrong with the rules: nothing starts without its limits. Rules that the decision API or
 * Envoy can't keep (permits, `when`, `settle`) are an error that names them, if such a door is configured.
 */
export function createCore(config: Config, options: CoreOptions = {}): OwnedCore {
  const { telemetry = quietTelemetry(), clock = systemClock } = options;
  const rules = readRules(config.rules);
  const opened = options.store === undefined ? undefined : borrowed(options.store);
  const { store, awaySinceMs, close } = opened ?? openStore(config.store, { telemetry, clock });
  const isBlindToo = config.decision !== undefined || config.envoy !== undefined;
  const common = { rules, store, clock };
  const policy = createPolicy({
    ...common,
    onDecision: (decision, facts) => telemetry.decided("gateway", decision, facts),
    onEvent: (event) => telemetry.policyEvent(event),
  });
  const blindPolicy = isBlindToo ? createPolicy({ ...common, seesResponses: false }) : undefined;
  return {
    config,
    clock,
    store,
    policy,
    blindPolicy,
    telemetry,
    storeAwaySinceMs: awaySinceMs,
    close: async () => {
      await Promise.all([policy.close(), blindPolicy?.close()]);
      await close();
    },
  };
}

/** The rules of a configuration, read and parsed now. */
export function readRules(source: RulesSource): RuleSet {
  if ("inline" in source) return parseRules(source.inline);
  return parseRules(readFileSync(source.file, "utf8"), { file: source.file });
}

/** The policies of a core, those that are there. */
export function policiesOf({ policy, blindPolicy }: Core): readonly Policy[] {
  return blindPolicy === undefined ? [policy] : [policy, blindPolicy];
}

function borrowed(store: Store): OpenStore {
  return { store, awaySinceMs: () => undefined, close: async () => {} };
}
