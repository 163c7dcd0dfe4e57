// Keeps a node's state up to date: from the snapshot on disk, then from a feed, change by change. When the feed fails,
// the node continues with what it has and tries again; when changes are missing, it loads a snapshot.

import { after, type CancelTimer, nextTurn, readMs, wallMs } from "../../base/clock.js";
import { ServerError } from "../../base/errors.js";
import type { Unsubscribe } from "../../database/database.js";
import { ENTITY_KINDS, type EntityKind } from "../changes/entity.js";
import type { ControlFeed } from "./control-feed.js";
import { readRulesAhead } from "./policy-inputs.js";
import { SnapshotFile } from "./snapshot-file.js";
import { ControlState, type NodeChange, type OnChanged } from "./state.js";

/** Options of {@link Follower}. */
export interface FollowerOptions {
  readonly feed: ControlFeed;
  /** Where the snapshot is kept; undefined keeps none. */
  readonly snapshotFile?: string | undefined;
  /** Called after the state has changed, with the kinds that did. What it returns is waited for by `inForce` only. */
  readonly onChanged?: OnChanged | undefined;
  /** Called after changes were applied; with undefined if the state was replaced as a whole. */
  readonly onApplied?: ((changes: readonly NodeChange[] | undefined) => void) | undefined;
  /** Called when the feed or the file fails, with what was seen. The follower continues. */
  readonly onProblem?:
    | ((what: string, error: unknown, of: "feed" | "snapshot") => void)
    | undefined;
  /** How often the feed is asked without a notice: the safety net. Default 1,000. */
  readonly pollMs?: number | undefined;
}

const POLL_MS = 1_000;
/** How often the file is marked as current. */
const TOUCH_MS = 5_000;
const ALL_KINDS: ReadonlySet<EntityKind> = new Set(ENTITY_KINDS);

/** Follows a feed until it is closed. */
export class Follower {
  readonly state: ControlState;
  readonly #options: FollowerOptions;
  readonly #pollMs: number;
  readonly #file: SnapshotFile | undefined;
  #unsubscribe: Unsubscribe = () => {};
  #cancelPoll: CancelTimer = () => {};
  /** The catching up that is under way. */
  #catchingUp: Promise<void> | undefined;
  /** What is being put in force. */
  #enforcing: Promise<void> | undefined;
  #isBehind = false;
  #isClosed = false;
  #needsSnapshot: boolean;
  #hasState: boolean;
  #currentSinceMs: number | undefined;
  #touchedMs = Number.NEGATIVE_INFINITY;

  constructor(options: FollowerOptions) {
    this.#options = options;
    this.#pollMs = options.pollMs ?? POLL_MS;
    const { snapshotFile } = options;
    this.#file = snapshotFile === undefined ? undefined : this.#toFile(snapshotFile);
    const kept = this.#file?.read((why) =>
      this.#report("the snapshot can't be used", new Error(why), "snapshot"),
    );
    this.#keep(() => this.#file?.removeLeftovers());
    this.state = kept ?? new ControlState();
    this.#needsSnapshot = kept === undefined;
    this.#hasState = kept !== undefined;
    const keptAtMs = kept && this.#file?.currentAtMs;
    if (keptAtMs !== undefined) this.#currentSinceMs = readMs() - (wallMs() - keptAtMs);
  }

  /** Whether there is a state at all, from the file or the feed. */
  get hasState(): boolean {
    return this.#hasState;
  }

  /**
   * How long ago the state was known to be current, in milliseconds, also by an earlier process that kept the same
   * file; Infinity if it never was.
   */
  get ageMs(): number {
    return this.#currentSinceMs === undefined
      ? Number.POSITIVE_INFINITY
      : readMs() - this.#currentSinceMs;
  }

  /** Starts to follow. Resolves when the feed was asked once, whether it answered or not. */
  async start(): Promise<void> {
    this.#unsubscribe = this.#options.feed.subscribe(() => void this.catchUp());
    await this.catchUp();
  }

  /** Applies all changes that there are now. Never rejects. */
  catchUp(): Promise<void> {
    this.#isBehind = true;
    this.#catchingUp ??= this.#run().finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp;
  }

  /** Resolves when all that was applied so far is in force. Never rejects. */
  async inForce(): Promise<void> {
    await this.#enforcing;
  }

  /** Stops. What is under way is waited for, a snapshot that is being written too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelPoll();
    this.#unsubscribe();
    await this.#catchingUp;
    await this.#file?.settled();
  }

  #toFile(path: string): SnapshotFile {
    return new SnapshotFile(path, (error) => this.#notKept(error));
  }

  async #run(): Promise<void> {
    this.#cancelPoll();
    try {
      // A caller that asks while this runs may have seen a change that the last question missed.
      while (this.#isBehind && !this.#isClosed) {
        this.#isBehind = false;
        await this.#advance();
      }
    } catch (error) {
      this.#report("the control plane can't be followed", error);
    }
    if (!this.#isClosed) this.#cancelPoll = after(this.#pollMs, () => void this.catchUp());
  }

  async #advance(): Promise<void> {
    if (this.#needsSnapshot) {
      const snapshot = await this.#options.feed.snapshot();
      const isFirst = !this.#hasState;
      // A node that decides already continues with what it has while they are read.
      if (isFirst) await readRulesAhead(snapshot.entities);
      this.state.replace(snapshot);
      this.#needsSnapshot = false;
      this.#hasState = true;
      this.#file?.replace(this.state);
      this.#changed(ALL_KINDS);
      this.#options.onApplied?.(undefined);
      // A node that has started can start again without the control plane.
      if (isFirst) await this.#file?.settled();
    }
    for (;;) {
      const changes = await this.#nextChanges();
      if (changes === undefined) return this.#advance();
      if (changes.length === 0) break;
      await this.#turnIfLong(changes);
      const kinds = this.#apply(changes);
      if (kinds === undefined) {
        // Changes before the gap are applied, and what was derived from the state must not outlive them.
        this.#changed(ALL_KINDS);
        return this.#advance();
      }
      if (kinds.size > 0) this.#changed(kinds);
      await this.#turnIfLong(changes);
      this.#keep(() => this.#file?.append(changes, this.state));
      await this.#turnIfLong(changes);
      this.#options.onApplied?.(changes);
    }
    this.#currentSinceMs = readMs();
    if (this.#currentSinceMs - this.#touchedMs < TOUCH_MS) return;
    this.#touchedMs = this.#currentSinceMs;
    this.#keep(() => this.#file?.touch(this.state));
  }

  /** Long rules take milliseconds in each step; decisions have their turn between them. */
  async #turnIfLong(changes: readonly NodeChange[]): Promise<void> {
    if (!changes.some(({ kind }) => kind === "rule-set")) return;
    await nextTurn();
  }

  #changed(kinds: ReadonlySet<EntityKind>): void {
    const enforcing = this.#options.onChanged?.(kinds);
    if (enforcing === undefined) return;
    const all = Promise.all([this.#enforcing, enforcing]).then(() => {
      if (this.#enforcing === all) this.#enforcing = undefined;
    });
    this.#enforcing = all;
  }

  /** Undefined: changes are missing, and a snapshot is needed. */
  async #nextChanges(): Promise<readonly NodeChange[] | undefined> {
    try {
      return await this.#options.feed.changesAfter(this.state.position);
    } catch (error) {
      return this.#missing(error);
    }
  }

  /** Undefined: changes are missing, and a snapshot is needed. */
  #apply(changes: readonly NodeChange[]): ReadonlySet<EntityKind> | undefined {
    try {
      return this.state.apply(changes);
    } catch (error) {
      return this.#missing(error);
    }
  }

  /** Throws what is something else. */
  #missing(error: unknown): undefined {
    if (!(error instanceof ServerError) || error.code !== "SLUICE_CONTROL_GAP") throw error;
    this.#report("changes are missing, loading a snapshot", error);
    this.#needsSnapshot = true;
    return undefined;
  }

  #keep(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#notKept(error);
    }
  }

  #notKept(error: unknown): void {
    this.#report("the snapshot can't be written", error, "snapshot");
  }

  #report(what: string, error: unknown, of: "feed" | "snapshot" = "feed"): void {
    this.#options.onProblem?.(what, error, of);
  }
}
