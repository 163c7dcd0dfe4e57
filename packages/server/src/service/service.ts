// A service: a core, and the listeners that are configured, opened together and closed together, with rules that
// are kept in force in between. Some of the listeners may be those of other processes.

import { toAnswering } from "../admin/fleet/node-answers.js";
import { NodeReader } from "../admin/live/node/node-reader.js";
import type { AdminControl } from "../admin/service-control.js";
import { type CancelTimer, pause } from "../base/clock.js";
import type { Config } from "../config/config.js";
import { type ControlNode, openControlNode } from "../control/control-node.js";
import { arbiterOf } from "../control/home-arbiter.js";
import { openKeyResolver } from "../control/key-resolver/open-key-resolver.js";
import { EnforcedState } from "../control/state/enforced-state.js";
import { publishedRules, tenantProfileOf } from "../control/state/policy-inputs.js";
import type { Core, Listener } from "../core/core.js";
import {
  type CoreOptions,
  createCore,
  type OwnedCore,
  policiesOf,
  rulesUseOf,
} from "../core/create-core.js";
import { type Readiness, readinessOf } from "../core/readiness.js";
import {
  parseWritten,
  type ReloadableRules,
  RulesInForce,
  readWritten,
} from "../core/rules-in-force.js";
import { createTelemetry } from "../telemetry/create-telemetry.js";
import type { Telemetry } from "../telemetry/telemetry.js";
import { ConfigInForce, type ConfigLoader } from "./config-in-force.js";
import { auditEscalations } from "./escalation-audit.js";
import {
  announceDrain,
  closeListeners,
  drainAll,
  type ListenerOpener,
  openListeners,
} from "./listeners.js";
import { adminOpenerOf, sharedOpenersOf, singleOpenersOf } from "./open-listeners.js";
import type { OtherProcesses, OthersMaker } from "./other-processes.js";
import { oneAtATime, reloadAll } from "./reload.js";
import { ServiceWebhooks } from "./service-webhooks.js";

/** What a service may be given instead of making it. */
export interface ServiceOptions extends CoreOptions {
  /** Reads the configuration again, for `reload`. Default: only the rules are read again. */
  readonly loadConfig?: ConfigLoader | undefined;
  /** What the telemetry that is given hashes keys with, so that workers do too. Default: a new secret. */
  readonly keySecret?: string;
  /**
   * Called with the first access token of a control plane, once in the life of its database. Default: none is made, and
   * only `admin.token` opens the admin port.
   */
  readonly onFirstToken?: (token: string) => void;
  /** Opens these instead of the listeners that are configured. */
  readonly openers?: readonly ListenerOpener[];
  /** Called when a running service can't continue. */
  readonly onFailed?: (error: unknown) => void;
}

/** A running service. */
export interface Service {
  readonly core: Core & Pick<OwnedCore, "storeReach" | "homeReach" | "ledgerReach">;
  readonly listeners: readonly Listener[];
  /** The control plane, as this service has it; undefined if it works from files. */
  readonly control: ControlNode | undefined;
  /** Whether it takes requests: it is not draining, and has the store that readiness asks for. */
  isReady(): boolean;
  /** Why it takes none, in words; empty if it is ready. */
  readonly unreadyReasons: readonly string[];
  /**
   * Reads the configuration and the rules again. Changes take effect, except those that need a restart, which
   * the log names. Rejects if they are invalid: then nothing has changed. Rejects too if only webhooks can't follow, because
   * a `caFile` went missing meanwhile: they stay as they were.
   */
  reload(): Promise<void>;
  /**
   * Fails readiness and serves on for `drainDelayMs`; then takes no further connections, lets requests under way
   * end, `drainMs` at most, and closes.
   */
  drain(): Promise<void>;
  /** Closes immediately. */
  close(): Promise<void>;
}

/**
 * Starts a service: all of its listeners are open when it resolves, or none.
 *
 * @throws What is wrong with the rules, or the error of an address that can't be listened at.
 */
export async function startService(config: Config, options: ServiceOptions = {}): Promise<Service> {
  const telemetry = options.telemetry ?? createTelemetry(config.telemetry);
  return openWithControl(config, { ...options, telemetry }, (rules, control) =>
    openService(createCore(config, { ...options, telemetry, ...rules }), { ...options, control }),
  );
}

/** What a core gets of the control plane: its rules instead of those that are configured, its API keys and tenants. */
export type ControlledParts = Omit<CoreOptions, "telemetry">;

/** Opens the control plane if one is configured, and then a service with it. It is closed if that fails. */
export async function openWithControl(
  config: Config,
  options: ServiceOptions & { readonly telemetry: Telemetry },
  open: (parts: ControlledParts, control: ControlNode | undefined) => Promise<Service>,
): Promise<Service> {
  if (config.control === undefined) return open({}, undefined);
  const { telemetry, onFirstToken } = options;
  const rules = config.control.hasRules ? readWritten(config.rules) : undefined;
  const control = await openControlNode(config.control, {
    telemetry,
    rules,
    onFirstToken,
    rulesUse: rulesUseOf(config),
  });
  try {
    const keyResolver = openKeyResolver(config.apiKeys, control, telemetry);
    const findTenant = (tenant: string) => tenantProfileOf(control.state, tenant);
    const published = parseWritten(publishedRules(control.state));
    const arbiter = arbiterOf(config, control.database);
    const onEscalated = auditEscalations(control.plane, telemetry);
    return await open({ rules: published, keyResolver, findTenant, arbiter, onEscalated }, control);
  } catch (error) {
    await control.close();
    throw error;
  }
}

/** Opens a service over a core, which is closed if that fails. Other processes have the listeners that can be shared. */
export async function openService(
  core: OwnedCore,
  options: ServiceOptions & { readonly control: ControlNode | undefined },
  makeOthers?: OthersMaker,
): Promise<Service> {
  let service: RunningService | undefined;
  try {
    service = new RunningService(core, options, makeOthers);
    await service.open(options.openers);
    return service;
  } catch (error) {
    await (service ?? core).close();
    throw error;
  }
}

const RULES_UNUSED =
  "the rules of the configuration are not used: those that the control plane has published stay in force";

class RunningService implements Service {
  readonly core: OwnedCore;
  readonly control: ControlNode | undefined;
  readonly #others: OtherProcesses | undefined;
  readonly #readiness: Readiness;
  readonly #rules: ReloadableRules;
  readonly #config: ConfigInForce;
  /** The listeners of this process. */
  #listeners: readonly Listener[] = [];
  readonly #reloadOnce = oneAtATime(async () => {
    await reloadAll({
      config: this.#config,
      rules: this.#rules,
      listeners: this.#listeners,
      webhooks: this.#webhooks,
      others: this.#others,
    });
    if (this.#hasUnusedRules()) this.core.telemetry.log.warn(RULES_UNUSED);
  });
  #stopWatching: CancelTimer = () => {};
  readonly #stopSpreading: () => void;
  readonly #webhooks: ServiceWebhooks;
  /** Cuts the delay before a drain short. */
  readonly #ending = new AbortController();
  #draining: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    core: OwnedCore,
    options: ServiceOptions & { readonly control: ControlNode | undefined },
    makeOthers: OthersMaker | undefined,
  ) {
    const { config, telemetry } = core;
    this.core = core;
    this.control = options.control;
    this.#config = new ConfigInForce(core.configured, options.loadConfig, telemetry);
    this.#readiness = readinessOf(core);
    this.#rules = this.#toRules();
    this.#others = makeOthers?.(() => ({
      rules: this.#rules.written,
      logLevel: this.#config.latest.telemetry.logLevel,
    }));
    this.#stopSpreading = this.#spreadControl();
    this.#reportLive();
    this.#webhooks = new ServiceWebhooks(config, this.control?.database, telemetry);
  }

  get listeners(): readonly Listener[] {
    return [...(this.#others?.listeners ?? []), ...this.#listeners];
  }

  isReady(): boolean {
    return this.unreadyReasons.length === 0;
  }

  get unreadyReasons(): readonly string[] {
    return [
      ...this.#readiness.reasons,
      ...(this.control?.unreadyReasons ?? []),
      ...(this.#others?.unreadyReasons ?? []),
    ];
  }

  /** Opens all listeners, or throws. Default: those that are configured. */
  async open(openers: readonly ListenerOpener[] = this.#toOpeners()): Promise<void> {
    await this.#others?.start();
    this.#listeners = await openListeners(this.core, openers);
    await this.core.storeReach.known;
    this.#readiness.open();
    // The failure is logged where it is found.
    this.#stopWatching = this.#config.watch(() => void this.reload().catch(() => {}));
  }

  reload(): Promise<void> {
    return this.#reloadOnce();
  }

  drain(): Promise<void> {
    this.#draining ??= this.#drain();
    return this.#draining;
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Other processes get each change of the control plane, and what is changed here waits for them. */
  #spreadControl(): () => void {
    const { control } = this;
    const others = this.#others;
    if (control === undefined || others === undefined) return () => {};
    control.spreadBy(() => others.followControl());
    return control.hub.subscribe(() => {
      others.followControl().catch((error) => {
        this.core.telemetry.problem("a worker did not apply a change of the control plane", error);
      });
    });
  }

  /** A follower answers its control node what all of its processes do, and have done. */
  #reportLive(): void {
    if (this.control?.url === undefined) return;
    const sources = { core: this.core, control: this.#toControl() };
    const reader = new NodeReader(sources);
    this.control.reportBy({
      readLive: (hasPast) => reader.report(hasPast),
      answerQuestion: toAnswering(sources),
    });
  }

  #toRules(): ReloadableRules {
    const { config, clock, telemetry } = this.core;
    const policies = policiesOf(this.core);
    if (this.control !== undefined) {
      return new EnforcedState({ source: this.control, policies, telemetry });
    }
    return new RulesInForce({
      source: config.rules,
      policies,
      telemetry,
      clock,
      onReplaced: (written) => this.#others?.replaceRules(written),
      onMended: () => this.#retry(),
    });
  }

  #toOpeners(): readonly ListenerOpener[] {
    const { config } = this.core;
    const shared = this.#others === undefined ? sharedOpenersOf(config) : [];
    return [...shared, ...singleOpenersOf(config), adminOpenerOf(this.#toControl())];
  }

  #toControl(): AdminControl {
    return {
      isReady: () => ({
        ready: this.isReady(),
        reasons: [...this.unreadyReasons, ...this.#readiness.remarks],
      }),
      reload: () => this.reload(),
      hasUnusedRules: () => this.#hasUnusedRules(),
      metrics: () => this.core.telemetry.metrics(),
      ...this.#others?.control,
      ...(this.control && toAdminControl(this.control)),
    };
  }

  #hasUnusedRules(): boolean {
    return this.#config.latest.control?.hasRules === true;
  }

  /** The rules can be read again, and they may have been all that was wrong with the configuration. */
  #retry(): void {
    // The failure is logged where it is found.
    if (this.#config.hasFailed) void this.reload().catch(() => {});
  }

  async #drain(): Promise<void> {
    const { config, telemetry } = this.core;
    this.#readiness.shut();
    await this.#announceDrain(config.drainDelayMs);
    if (this.#closing !== undefined) return this.#closing;
    const late = await drainAll(this.#listeners, config.drainMs, this.#others?.drain());
    if (late.length > 0) telemetry.log.warn({ listeners: late }, "not drained in time; closing");
    await this.close();
  }

  /** Health checks report the coming end, while everything is still served. */
  async #announceDrain(delayMs: number): Promise<void> {
    this.#others?.announceDrain();
    await Promise.all([announceDrain(this.#listeners), pause(delayMs, this.#ending.signal)]);
  }

  async #close(): Promise<void> {
    this.#ending.abort();
    this.#readiness.shut();
    this.#rules.close();
    this.#stopWatching();
    this.#stopSpreading();
    await this.#others?.close();
    await closeListeners(this.#listeners);
    await this.#webhooks.close();
    await this.control?.close();
    await this.core.close();
  }
}

/** The control plane, as the admin port uses it: on a follower only the address of the control node. */
function toAdminControl(node: ControlNode): Partial<AdminControl> {
  const { plane, url } = node;
  return {
    nodeName: () => node.listedName,
    controlPlane: plane ?? { follow: url ?? "" },
    controlState: node.state,
    feed: node.feedServer,
    nodeSwitching: node.switching,
    nodes: () => node.nodes(),
  };
}
