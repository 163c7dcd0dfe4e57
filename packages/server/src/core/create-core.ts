// Makes what the listeners of one process share: the store, the policies over it, and telemetry.

import { hostname } from "node:os";
import {
  type AdmissionMeter,
  type Clock,
  type FailurePolicy,
  type Store,
  systemClock,
} from "sluice";
import type { KeyResolver } from "sluice/api-keys";
import { JwtVerifier } from "sluice/jwt";
import {
  type CallerEscalated,
  createPolicy,
  type FindTenant,
  type HomeArbiter,
  type HomeControl,
  homeControl,
  type Policy,
  type PolicyEvent,
  type PolicyOptions,
  type RuleSet,
} from "sluice/rules";
import { every } from "../base/clock.js";
import type { Config, RegionsConfig } from "../config/config.js";
import { regionsOver } from "../config/regions-over.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import type { Core } from "./core.js";
import { logPromotions } from "./home-watch.js";
import { ListsInForce } from "./lists-in-force.js";
import { type OpenMmdb, openMmdbFiles } from "./mmdb/mmdb-files.js";
import { homeReachOf, openHome, openStandby } from "./open-home.js";
import { type OpenLedger, openLedger } from "./open-ledger.js";
import { type OpenPeers, openPeers } from "./open-peers.js";
import { ALWAYS_THERE, type OpenStore, type OpenStoreOptions, openStore } from "./open-store.js";
import type { RulesUse } from "./rules/read-job.js";
import { readRules } from "./rules-in-force.js";

/** What a core may be given instead of making it. */
export interface CoreOptions {
  /** Default: one that says nothing. */
  readonly telemetry?: Telemetry;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Instead of the one that is configured. It stays open when the core is closed. */
  readonly store?: Store;
  /** Instead of the store of the home region. It stays open when the core is closed, and no region takes over. */
  readonly homeStore?: Store;
  /** Arbitrates between the home region and its standby. Default: other nodes do, or an operator. */
  readonly arbiter?: HomeArbiter | undefined;
  /** Instead of the ledger that is configured. It stays open when the core is closed. */
  readonly durableStore?: Store;
  /** This process among those of the node, in entries of the ledger. Default: the node alone. */
  readonly processName?: string;
  /** Instead of reading those that are configured. */
  readonly rules?: RuleSet;
  /** Processes that share the budget of leased rules; default 4. */
  readonly holders?: number;
  /** Resolves API keys, where the configuration asks for it. It is closed with the core. */
  readonly keyResolver?: (KeyResolver & { close?(): void }) | undefined;
  /** Called with each caller that an escalation blocked. Default: only telemetry has it. */
  readonly onEscalated?: ((event: CallerEscalated) => void) | undefined;
  /** What is known of tenants, for callers that ask what they used. Default: nothing. */
  readonly findTenant?: FindTenant | undefined;
}

/** A core, and its end. */
export interface OwnedCore extends Core {
  /** The configuration as it was read: `config` has what looks up API keys as well. */
  readonly configured: Config;
  /** What was given as an option, for blocks that other processes ask for. */
  readonly onEscalated: CoreOptions["onEscalated"];
  /** Since when the store's answers don't come, in milliseconds of the clock; undefined if they do. */
  storeAwaySinceMs(): number | undefined;
  /** The store, as the log and readiness speak of it. */
  readonly storeReach: Pick<OpenStore, "name" | "problem" | "known">;
  /** The store of the home region, in the same way; undefined if there is no home region, or if it is the same store. */
  readonly homeReach: Pick<OpenStore, "name" | "problem"> | undefined;
  /** The home region that has a standby, for operators; undefined if there is none. */
  readonly homeRegion: HomeControl | undefined;
  /** The ledger, in the same way; undefined if no ledger is configured. */
  readonly ledgerReach: Pick<OpenStore, "name" | "problem"> | undefined;
  /** Returns what is leased, then closes the store. */
  close(): Promise<void>;
}

/**
 * The core of a service.
 *
 * @throws What is wrong with the rules: nothing starts without its limits. Rules that the decision API or
 * Envoy can't keep (permits, `when`, `settle`) are an error that names them, if such a listener is configured.
 */
export function createCore(given: Config, options: CoreOptions = {}): OwnedCore {
  const { telemetry = silentTelemetry(), clock = systemClock, keyResolver } = options;
  const config = withResolver(given, keyResolver);
  const rules = options.rules ?? readRules(config.rules);
  const mmdb = openMmdbFiles(config.mmdbFiles, { telemetry });
  const lent = options.store === undefined ? undefined : borrowed(options.store);
  const opened = lent ?? openStore(config.store, { telemetry, clock });
  const home = options.homeStore
    ? borrowed(options.homeStore)
    : openHome(config, { telemetry, clock });
  const standby = options.homeStore ? undefined : openStandby(config, { telemetry, clock });
  const peers = openPeers(config, { telemetry, clock });
  const leased = options.holders === undefined ? {} : { holders: options.holders };
  const ledger = ledgerOf(config, options, { telemetry, clock });
  if (rules.rules.some(({ durable }) => durable !== undefined)) ledger?.open();
  const { onStoreFailure } = config.store;
  const durable = ledger === undefined ? {} : toDurable(ledger);
  const isAlone = options.homeStore !== undefined;
  const others = { home, standby, peers, isAlone, arbiter: options.arbiter };
  const stores = toStores(config, opened, others);
  const counted = { ...stores, onStoreFailure, ...durable };
  const merged = options.holders === undefined ? {} : { nodes: options.holders };
  const listed = config.lists && new ListsInForce(config.lists, { telemetry });
  const lists = listed === undefined ? {} : { lists: listed.lists };
  const known = { ...lists, ...toNetworkOf(mmdb) };
  const { onEscalated } = options;
  const parts = { rules, ...counted, ...known, clock, telemetry, leased, merged, onEscalated };
  const closeStores = async () => {
    listed?.close();
    mmdb?.close();
    const far = [home?.close(), standby?.close(), peers.close()];
    await Promise.all([opened.close(), ...far, ledger?.close()]);
  };
  const { policy, blindPolicy } = createPolicies(config, parts, closeStores);
  followKeys(config, telemetry);
  const { regions } = stores;
  const homeRegion = regions?.standby ? homeControl(regions, { clock }) : undefined;
  const stopWatch = homeRegion && logPromotions(homeRegion, { log: telemetry.log, every });
  return {
    config,
    configured: given,
    clock,
    store: opened.store,
    policy,
    blindPolicy,
    telemetry,
    durableStore: ledger?.store,
    readLedger: ledger?.reader,
    findTenant: options.findTenant,
    onEscalated: options.onEscalated,
    mmdb,
    storeAwaySinceMs: opened.awaySinceMs,
    storeReach: opened,
    homeReach: homeReachOf({ home, standby, homeRegion }),
    homeRegion,
    ledgerReach: ledger,
    close: async () => {
      keyResolver?.close?.();
      stopWatch?.();
      homeRegion?.close();
      await Promise.all([policy.close(), blindPolicy?.close()]);
      await closeStores();
    },
  };
}

/** The configuration with the resolver in its identity, for all listeners. */
function withResolver(config: Config, keyResolver: KeyResolver | undefined): Config {
  const { apiKeys, identity } = config;
  if (apiKeys === undefined) return config;
  if (keyResolver === undefined) {
    throw new Error("identity.apiKeys is configured, but the core has no key resolver");
  }
  const { unknownKeys } = apiKeys;
  return { ...config, identity: { ...identity, keyResolver, unknownKeys } };
}

/** Fetches keys at a URL before the first token comes. Failures are counted and logged, now and later. */
function followKeys({ identity: { jwt } }: Config, telemetry: Telemetry): void {
  if (!(jwt instanceof JwtVerifier)) return;
  jwt.onKeysFailed = (error) => telemetry.jwksFetchFailed(error);
  void jwt.fetchKeys();
}

/** The ledger, if there is one. */
function ledgerOf(
  config: Config,
  { durableStore, processName }: CoreOptions,
  options: OpenStoreOptions,
): OpenLedger | undefined {
  if (durableStore !== undefined) return { ...borrowed(durableStore), open: () => {} };
  const node = config.control?.node ?? hostname();
  const actor = processName === undefined ? node : `${node} ${processName}`;
  return openLedger(config, { ...options, actor });
}

function toDurable({
  store,
  admissions,
}: OpenLedger): Pick<PolicyParts, "durableStore" | "admissions"> {
  return { durableStore: store, ...(admissions === undefined ? {} : { admissions }) };
}

/** The policies' option, if there are files that can answer. */
function toNetworkOf(mmdb: OpenMmdb | undefined): Pick<PolicyOptions, "networkOf"> {
  return mmdb === undefined ? {} : { networkOf: mmdb.networkOf };
}

/** The store, or with regions that of each. */
function toStores(
  { regions }: Config,
  { store }: OpenStore,
  others: OtherRegions,
): Pick<PolicyOptions, "store" | "regions"> {
  if (regions === undefined) return { store };
  const { home, standby, peers, isAlone, arbiter } = others;
  const stores = { home: home?.store, standby: standby?.store, peers: peers.stores, arbiter };
  return { regions: regionsOver(store, isAlone ? withoutStandby(regions) : regions, stores) };
}

/** The stores of other regions, and what arbitrates between them. */
interface OtherRegions {
  readonly home: OpenStore | undefined;
  readonly standby: OpenStore | undefined;
  readonly peers: OpenPeers;
  /** Whether the home region's store was given: then no other takes over. */
  readonly isAlone: boolean;
  readonly arbiter: HomeArbiter | undefined;
}

function withoutStandby(regions: RegionsConfig): RegionsConfig {
  return { ...regions, standby: undefined };
}

interface PolicyParts extends Pick<PolicyOptions, "store" | "regions" | "lists" | "networkOf"> {
  readonly rules: RuleSet;
  readonly durableStore?: Store;
  readonly admissions?: AdmissionMeter;
  readonly onStoreFailure: FailurePolicy;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly leased: { readonly holders?: number };
  readonly merged: { readonly nodes?: number };
  readonly onEscalated: CoreOptions["onEscalated"];
}

function createPolicies(config: Config, parts: PolicyParts, closeStores: () => Promise<void>) {
  try {
    const blindPolicy = needsBlind(config) ? createBlindPolicy(parts) : undefined;
    const policy = createSeeingPolicy(parts);
    for (const each of [policy, blindPolicy]) if (each) parts.telemetry.watch(each);
    return { blindPolicy, policy };
  } catch (error) {
    // Rules that can't be used: nothing of what was opened for them stays.
    closeStores().catch(() => {});
    throw error;
  }
}

/** What the policies of a service can do, by which rules are checked before they are published. */
export function rulesUseOf(config: Config): RulesUse {
  const { ledger, regions } = config;
  const hasLedger = ledger?.database !== undefined;
  return { seesResponses: !needsBlind(config), hasLedger, ...(regions && { regions }) };
}

/** Envoy's listener sees no responses either, but decides by files of its own. */
function needsBlind({ decision }: Config): boolean {
  return decision !== undefined;
}

/** The policy of the gateway, which sees responses. */
function createSeeingPolicy({ telemetry, onEscalated, ...common }: PolicyParts): Policy {
  return createPolicy({
    ...common,
    onEvent: (event) => {
      telemetry.policyEvent(event);
      if (event.kind === "escalated") onEscalated?.(event);
    },
  });
}

/** The policy of all other listeners, which don't see responses. */
function createBlindPolicy({ telemetry, onEscalated, ...common }: PolicyParts): Policy {
  return createPolicy({
    ...common,
    seesResponses: false,
    onEvent: (event) => {
      if (!isOfRules(event)) telemetry.policyEvent(event);
      if (event.kind === "escalated") onEscalated?.(event);
    },
  });
}

/** Events that concern the rules of both policies, which one of them reports. */
function isOfRules({ kind }: PolicyEvent): boolean {
  return kind === "replaced" || kind === "disabled" || kind === "enabled";
}

/** The policies of a core, the one that can refuse rules for its listeners first. */
export function policiesOf({ policy, blindPolicy }: Core): readonly Policy[] {
  return blindPolicy === undefined ? [policy] : [blindPolicy, policy];
}

function borrowed(store: Store): OpenStore {
  return { ...ALWAYS_THERE, name: "its own", store, close: async () => {} };
}
