// Resolves API keys from the state of the control plane that a node has. A known key is answered without waiting. A
// well-formed key that is not known may have been created a moment ago on another node, so it is looked up, at a
// bounded rate.

import type { Clock } from "sluice";
import type { KeyAnswer, KeyResolver, ResolvedKey, UnknownKeys } from "sluice/api-keys";
import { type CachedKeyResolver, cachedKeyResolver, SharedKey } from "sluice/api-keys";
import type { TenantProfile } from "sluice/rules";
import { every, readMs, wallMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { EntityBody, EntityKind } from "../changes/entity.js";
import type { KeyRights } from "../keys/key-rights.js";
import { idIn, type KeyBody, type KeyTable, NO_SLOT } from "../keys/key-table.js";
import { KeyUses, type StoreUses, UsesFlush } from "../keys/key-uses.js";
import { isSameHash, readSecret } from "../secret-format.js";
import { tenantProfileOf } from "../state/policy-inputs.js";
import type { ControlState } from "../state/state.js";

/** Finds an API key that this node does not know; undefined if no such key exists. It may reject. */
export type LookUpKey = (id: string) => Promise<EntityBody | undefined>;

/** What a resolver is made with. */
export interface ControlKeyResolverOptions {
  readonly state: ControlState;
  readonly lookUp: LookUpKey;
  /** How many keys that are not known are looked up in a second. */
  readonly lookupsPerSecond: number;
  /** What happens to a key that is not known while it can't be looked up. */
  readonly unknownKeys: UnknownKeys;
  /** Called with what a look-up failed with. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Stores the hours in which keys were used, once a minute. Default: they are not stored. */
  readonly storeUses?: StoreUses | undefined;
  /** Called with what storing them failed with. They are kept for the next time. */
  readonly onUsesError?: ((error: unknown) => void) | undefined;
  /** Default: the wall clock. */
  readonly now?: (() => number) | undefined;
  /** The clock of look-ups and of remembered results. Default: the system's. */
  readonly clock?: Clock | undefined;
}

/** Longer than a change takes to reach this node. */
const CACHE_MS = 2_000;
const NEGATIVE_MS = 1_000;
const KEYS_MAX = 10_000;
const TICK_MS = 60_000;

/** The profile of a tenant that this node does not know. */
const NO_PROFILE: Partial<TenantProfile> = {};

/** Resolves keys until it is closed. */
export class ControlKeyResolver implements KeyResolver {
  readonly #state: ControlState;
  readonly #table: KeyTable;
  readonly #now: () => number;
  readonly #uses: KeyUses;
  readonly #flush: UsesFlush | undefined;
  readonly #others: CachedKeyResolver;
  readonly #stop: () => void;
  /** By the number of tenant and scopes; made when a key that has them is resolved. */
  #shared: (SharedKey | undefined)[] = [];

  constructor(options: ControlKeyResolverOptions) {
    const { state, lookUp, lookupsPerSecond, unknownKeys, now = wallMs, onError } = options;
    const { storeUses, onUsesError = () => {}, clock } = options;
    this.#state = state;
    this.#table = state.keys;
    this.#now = now;
    this.#uses = new KeyUses(this.#table, now);
    this.#flush = storeUses && new UsesFlush(this.#uses, storeUses, onUsesError);
    this.#others = cachedKeyResolver({
      lookup: (sent) => this.#lookUp(sent, lookUp),
      keysMax: KEYS_MAX,
      cacheMs: CACHE_MS,
      negativeMs: NEGATIVE_MS,
      lookupsPerSecond,
      onUnavailable: unknownKeys,
      ...(onError === undefined ? {} : { onError }),
      ...(clock === undefined ? {} : { clock }),
    });
    this.#stop = every(TICK_MS, () => void this.flushUses());
  }

  /** What a key stands for. Suspended tenants are resolved too: that they are refused is a matter of blocks. */
  resolve(sent: string): KeyAnswer | Promise<KeyAnswer> {
    const slot = this.#table.findVerified(sent);
    return slot === NO_SLOT ? this.#resolveUnverified(sent) : this.#resolveVerified(slot);
  }

  /** To be called after the state has changed. */
  changed(kinds: ReadonlySet<EntityKind>): void {
    if (!kinds.has("api-key") && !kinds.has("tenant") && !kinds.has("plan")) return;
    this.#shared = [];
    this.#others.invalidate();
  }

  /** Stores the hours in which keys were used. Never rejects. */
  async flushUses(): Promise<void> {
    this.#uses.tick();
    await this.#flush?.run();
  }

  close(): void {
    this.#stop();
  }

  #resolveVerified(slot: number): ResolvedKey | SharedKey | undefined {
    const table = this.#table;
    const expiryMs = table.expiryOf(slot);
    if (expiryMs !== Number.POSITIVE_INFINITY && this.#now() >= expiryMs) return undefined;
    this.#uses.note(slot);
    const number = table.rightsNumberOf(slot);
    const shared = this.#shared[number] ?? this.#toShared(number, table.rightsOf(slot));
    const countedAs = table.countedAsOf(slot);
    return countedAs === undefined ? shared : shared.withId(countedAs);
  }

  /** A key that is sent for the first time, or that is unknown or wrong. */
  #resolveUnverified(sent: string): KeyAnswer | Promise<KeyAnswer> {
    const slot = this.#table.findSent(sent);
    if (slot !== NO_SLOT) {
      return this.#verify(slot, sent) ? this.#resolveVerified(slot) : undefined;
    }
    return readSecret("apiKey", sent) === undefined ? undefined : this.#others.resolve(sent);
  }

  /** Once for each key; from then on its fingerprint is compared, and every other key of that id is wrong. */
  #verify(slot: number, sent: string): boolean {
    if (this.#table.isVerified(slot)) return false;
    const read = readSecret("apiKey", sent);
    if (read === undefined || !isSameHash(this.#table.hashOf(slot), read.hash)) return false;
    this.#table.setVerified(slot, sent);
    return true;
  }

  #toShared(number: number, rights: KeyRights): SharedKey {
    const shared = new SharedKey(this.#factsOf(rights), idIn);
    this.#shared[number] = shared;
    return shared;
  }

  #factsOf({ tenant, scopes }: KeyRights): Omit<ResolvedKey, "id"> {
    const { tier, plan, attributes } = tenantProfileOf(this.#state, tenant) ?? NO_PROFILE;
    // A tenant without a plan is not to be looked up again for each request.
    return { tenant, tier, plan: plan ?? null, scopes, attributes };
  }

  async #lookUp(sent: string, lookUp: LookUpKey): Promise<ResolvedKey | undefined> {
    const read = readSecret("apiKey", sent);
    if (read === undefined) return undefined;
    const body = (await lookUp(read.id)) as KeyBody | undefined;
    if (body === undefined || !isSameHash(String(body.hash), read.hash)) return undefined;
    const { expiresAtMs, countedAs, tenant, scopes } = body;
    if (expiresAtMs !== undefined && this.#now() >= expiresAtMs) return undefined;
    const slot = this.#table.findSent(sent);
    if (slot !== NO_SLOT) this.#uses.note(slot);
    return { id: countedAs ?? read.id, ...this.#factsOf({ tenant, scopes }) };
  }
}

/** What follows the control plane: a follower, or a node. */
interface Following {
  readonly state: ControlState;
  readonly ageMs: number;
  catchUp(): Promise<void>;
}

/**
 * Looks keys up by catching up with the feed: when all changes are here, the node knows every key, its tenant and its
 * plan. Rejects if the feed does not answer.
 */
export function lookUpByCatchingUp(follower: Following): LookUpKey {
  return async (id) => {
    const startMs = readMs();
    await follower.catchUp();
    if (follower.ageMs > readMs() - startMs) {
      throw new ServerError("SLUICE_CONTROL_UNAVAILABLE", "API keys can't be looked up");
    }
    return follower.state.find("api-key", id);
  };
}
