// A node of the control plane: the state that this process decides with, kept up to date from a database or from a
// control node. While those are unavailable it continues with what it has, and starts with what it kept on disk.

import { formatDuration } from "sluice/shapes";
import { after, type CancelTimer, nextTurn, pause, readMs, wallMs } from "../base/clock.js";
import { ServerError } from "../base/errors.js";
import { readVersion } from "../base/version.js";
import type { ControlConfig, FollowControlConfig } from "../config/config.js";
import type { RulesUse } from "../core/rules/read-job.js";
import { type Database, isDatabaseUnavailable, type Unsubscribe } from "../database/database.js";
import { openDatabase } from "../database/open-database.js";
import { newSecret } from "../telemetry/random.js";
import { toFigures } from "./control-figures.js";
import { ControlPlane } from "./control-plane.js";
import { ChangeHub } from "./feed/change-hub.js";
import { DatabaseFeed } from "./feed/database-feed.js";
import { FeedServer } from "./feed/feed-server.js";
import { type FollowerReporting, HttpFeed } from "./feed/http-feed.js";
import { type FirstStartOptions, prepareDatabase } from "./first-start.js";
import type { LastUses } from "./keys/key-uses.js";
import { NodeSwitching } from "./node-switching.js";
import { ControlNodes, type NodeStatus } from "./nodes.js";
import type { ResolvingFeed } from "./state/control-feed.js";
import { Follower } from "./state/follower.js";
import { NodeSwitches } from "./state/node-switches.js";
import { type ControlState, type NodeChange, notifyAll, type OnChanged } from "./state/state.js";

/** How long until a database that was unavailable at the start is tried again. */
const PREPARE_AGAIN_MS = 2_000;

/** How long a change waits until this node enforces it. */
const ENFORCE_MS_MAX = 5_000;
const ENFORCE_PAUSE_MS = 20;
/** Changes that followers find after a restart of this node. */
const RECALLED_MAX = 1_000;
/** Of their rules, in characters: the hub would not keep more. */
const RECALLED_LENGTH_MAX = 32 << 20;

/** Options of {@link openControlNode}. */
export interface ControlNodeOptions extends FirstStartOptions {
  /** What the policies of this service can do. Default: they can use all rules that parse. */
  readonly rulesUse?: RulesUse | undefined;
}

/**
 * Opens a node: its state is there when it resolves.
 *
 * @throws ServerError `SLUICE_CONTROL_UNAVAILABLE` if neither the control plane nor a snapshot gives a state; what is
 *   wrong with the database or the configured rules.
 */
export async function openControlNode(
  config: ControlConfig,
  options: ControlNodeOptions,
): Promise<ControlNode> {
  const node = new ControlNode(config, options);
  try {
    await node.start();
    return node;
  } catch (error) {
    await node.close();
    throw error;
  }
}

/** A node that follows the control plane until it is closed. */
export class ControlNode {
  /** As configured. */
  readonly name: string;
  /** Distinguishes this process from others of the same name. */
  readonly #instance = newSecret().toString("hex");
  /** All that operators read and change; undefined on a follower. */
  readonly plane: ControlPlane | undefined;
  readonly #config: ControlConfig;
  readonly #options: ControlNodeOptions;
  readonly #database: Database | undefined;
  readonly #feed: ResolvingFeed;
  readonly #follower: Follower;
  /** What followers and workers are handed. */
  readonly hub: ChangeHub;
  /** Serves followers; undefined if this node is one. */
  readonly feedServer: FeedServer | undefined;
  readonly #nodes: ControlNodes | undefined;
  /** Switches of this node alone. */
  readonly nodeSwitches = new NodeSwitches();
  /** Sets them. */
  readonly switching: NodeSwitching;
  readonly #listeners = new Set<OnChanged>();
  readonly #beforeClose: (() => Promise<void>)[] = [];
  /** Resolves when other processes of this node enforce what it has. */
  #spread: () => Promise<void> = async () => {};
  #reporting: FollowerReporting | undefined;
  #cancelPrepare: CancelTimer = () => {};
  #closing: Promise<void> | undefined;
  /** Since the start. */
  #changes = 0;
  readonly #problems = { feed: 0, snapshot: 0 };
  /** The latest, for an error of the start. */
  #problem: unknown;

  constructor(config: ControlConfig, options: ControlNodeOptions) {
    this.name = config.node;
    this.#config = config;
    this.#options = options;
    // Paths in it are absolute.
    this.#database = config.kind === "database" ? openDatabase(config.database, "/") : undefined;
    this.plane = this.#toPlane();
    this.#feed = this.#toFeed();
    this.#follower = new Follower({
      feed: this.#feed,
      snapshotFile: config.snapshotFile,
      onChanged: (kinds) => this.#notify(kinds),
      onApplied: (changes) => {
        if (changes === undefined) this.hub.restart();
        else this.hub.add(changes);
        this.#changes += changes?.length ?? 0;
      },
      onProblem: (what, error, of) => {
        this.#problems[of]++;
        this.#report(what, error);
      },
    });
    this.hub = new ChangeHub(this.state);
    this.feedServer = this.plane && new FeedServer(this.hub, (uses) => this.storeUses(uses));
    this.#nodes = this.#toNodes();
    this.switching = this.#toSwitching();
    options.telemetry.watchControl(() => toFigures(this, this.#changes, this.#problems));
  }

  /** The name that `GET /v1/nodes` lists it by, which differs where another node has the same one. */
  get listedName(): string {
    return this.#nodes?.name ?? this.name;
  }

  /** The control node that this node follows; undefined if it is one. */
  get url(): string | undefined {
    return this.#config.kind === "follow" ? this.#config.url : undefined;
  }

  /** The database of the control plane; undefined on a follower. */
  get database(): Database | undefined {
    return this.#database;
  }

  /** What this process decides with. */
  get state(): ControlState {
    return this.#follower.state;
  }

  /** How long ago the state was known to be current, in milliseconds; Infinity if it never was. */
  get ageMs(): number {
    return this.#follower.ageMs;
  }

  /** Why readiness fails, in words; empty if it does not. */
  get unreadyReasons(): readonly string[] {
    const { staleMsMax } = this.#config;
    if (staleMsMax === undefined || this.ageMs < staleMsMax) return [];
    const time = formatDuration(staleMsMax);
    return [`the control plane has not been reached for ${time} (control.staleMsMax)`];
  }

  /** All nodes that are known here; on a follower only this one. */
  async nodes(): Promise<readonly NodeStatus[]> {
    if (this.#nodes !== undefined) return this.#nodes.list();
    const { name, state } = this;
    const known = { name, kind: "follower" as const, version: readVersion(), via: name };
    const seenAtMs = wallMs() - Math.min(this.ageMs, wallMs());
    return [{ ...known, sequence: state.sequence, behind: 0, seenAtMs, isAway: false }];
  }

  /** Calls back after the state has changed, in the order of these calls. */
  onChanged(listener: OnChanged): Unsubscribe {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Lets changes wait for other processes too: `spread` resolves when they enforce what this process has. */
  spreadBy(spread: () => Promise<void>): void {
    this.#spread = spread;
  }

  /** Lets a follower answer its control node. */
  reportBy(reporting: FollowerReporting): void {
    this.#reporting = reporting;
  }

  /** Applies all changes that there are now. Never rejects. */
  catchUp(): Promise<void> {
    return this.#follower.catchUp();
  }

  /** Stores the hours in which keys were used. Rejects if the control plane does not take them. */
  storeUses(uses: LastUses): Promise<void> {
    return this.#feed.storeUses(uses);
  }

  /** Runs `task` before the node is closed, which waits for it. */
  onClosing(task: () => Promise<void>): void {
    this.#beforeClose.push(task);
  }

  /** Loads the state; see {@link openControlNode}. */
  async start(): Promise<void> {
    await this.#prepare();
    await this.#follower.start();
    if (this.#follower.hasState) return this.#recallChanges();
    const { kind, snapshotFile } = this.#config;
    const [what, advice] =
      kind === "database"
        ? ["the database (control.database)", "start the database first"]
        : ["the control node (control.follow)", "start the control node first"];
    const why = this.#problem instanceof Error ? ` (${this.#problem.message})` : "";
    const seen = `${what} can't be reached${why}, and there is no snapshot at ${snapshotFile} to start from; ${advice}`;
    throw new ServerError("SLUICE_CONTROL_UNAVAILABLE", seen, { cause: this.#problem });
  }

  /** Followers that were disconnected for as long as this node was down find the changes since then. */
  async #recallChanges(): Promise<void> {
    if (this.feedServer === undefined) return;
    const recalled: NodeChange[] = [];
    let sequence = Math.max(0, this.state.sequence - RECALLED_MAX);
    let length = 0;
    while (sequence < this.state.sequence) {
      const changes = await this.#feed.changesAfter({ sequence, hash: "" }).catch(() => []);
      for (const change of changes) {
        recalled.push(change);
        length += lengthOf(change);
        while (length > RECALLED_LENGTH_MAX) length -= lengthOf(recalled.shift());
      }
      const last = changes.at(-1);
      if (last === undefined) return;
      sequence = last.sequence;
      await nextTurn();
    }
    this.hub.addEarlier(recalled);
  }

  #report(what: string, error: unknown): void {
    this.#problem = error;
    this.#options.telemetry.problem(what, error);
  }

  /** Stops following, and closes the database. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#cancelPrepare();
    await Promise.all(this.#beforeClose.map((task) => task()));
    this.#nodes?.close();
    this.switching.close();
    this.feedServer?.close();
    await this.#follower.close();
    await this.#database?.close();
  }

  /** Prepares the database now or, if it is unavailable, when it is back. */
  async #prepare(): Promise<void> {
    if (this.#database === undefined || this.plane === undefined) return;
    try {
      await prepareDatabase(this.#database, this.plane, this.#options);
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      if (this.#closing !== undefined) return;
      this.#report("the database of the control plane can't be reached", error);
      this.#cancelPrepare = after(PREPARE_AGAIN_MS, () => void this.#prepareLater());
    }
  }

  async #prepareLater(): Promise<void> {
    try {
      await this.#prepare();
    } catch (error) {
      this.#report("the database of the control plane can't be used", error);
    }
  }

  #toPlane(): ControlPlane | undefined {
    const database = this.#database;
    const { rulesUse } = this.#options;
    const enforce = (sequence: number) => this.#enforce(sequence);
    if (database === undefined || this.#config.kind !== "database") return undefined;
    const databaseUrl = this.#config.database;
    return new ControlPlane({ database, databaseUrl, enforce, rulesUse });
  }

  #toNodes(): ControlNodes | undefined {
    const { name, state, feedServer } = this;
    const database = this.#database;
    if (database === undefined || feedServer === undefined) return undefined;
    const onSharedName = (node: string, listedName: string) => {
      const fields = { node, listedName };
      this.#options.telemetry.log.warn(fields, "two nodes have one name; set control.node of one");
    };
    const { streams } = feedServer;
    streams.onSharedName = onSharedName;
    const instance = this.#instance;
    return new ControlNodes({ name, instance, database, state, streams, onSharedName });
  }

  #toSwitching(): NodeSwitching {
    const { name, plane, nodeSwitches: switches } = this;
    const { telemetry } = this.#options;
    const enforce = async () => {
      await this.#notify(new Set(["switch"]));
      await this.#spread();
    };
    return new NodeSwitching({ name, plane, switches, telemetry, enforce });
  }

  /** Resolves when all processes of this node enforce the changes up to a number. */
  async #enforce(sequence: number): Promise<void> {
    const endMs = readMs() + ENFORCE_MS_MAX;
    await this.catchUp();
    // The database may be unavailable for a moment after the change was committed.
    while (this.state.sequence < sequence && readMs() < endMs && this.#closing === undefined) {
      await pause(ENFORCE_PAUSE_MS);
      await this.catchUp();
    }
    await this.#follower.inForce();
    await this.#spread();
    if (this.state.sequence >= sequence) return;
    const seen = `change ${sequence} is committed, but not in force on this node yet; it will be when the database answers`;
    throw new ServerError("SLUICE_CONTROL_UNAVAILABLE", seen);
  }

  #toFeed(): ResolvingFeed {
    if (this.#database !== undefined) return new DatabaseFeed(this.#database);
    const config = this.#config as FollowControlConfig;
    const instance = this.#instance;
    const reporting = () => this.#reporting;
    return new HttpFeed({ ...config, instance, version: readVersion(), reporting });
  }

  #notify(kinds: Parameters<OnChanged>[0]): Promise<void> | undefined {
    return notifyAll(this.#listeners, kinds);
  }
}

/** Of the rules of a change, which are most of it. */
function lengthOf(change: NodeChange | undefined): number {
  return String(change?.after?.text ?? "").length;
}
