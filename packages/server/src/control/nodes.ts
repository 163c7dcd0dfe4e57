// All nodes, and how far each one has got. A control node writes what it knows about itself and its followers to the
// database every few seconds, so that each control node can answer for all of them.

import { every, wallMs } from "../base/clock.js";
import { readVersion } from "../base/version.js";
import type { Database, Row } from "../database/database.js";
import { type FollowerStatus, toListedName } from "./feed/follower-stream.js";
import type { FollowerStreams } from "./feed/follower-streams.js";
import { statements } from "./sql/statements.js";
import type { ControlState } from "./state/state.js";

/** A node. */
export interface NodeStatus {
  /** As configured, or with a number (`web~2`) if another node has the same name. */
  readonly name: string;
  readonly kind: "control" | "follower";
  /** The version of Sluice. */
  readonly version: string;
  /** The last change that it has applied, as far as is known. */
  readonly sequence: number;
  /** How many changes it has still to apply. */
  readonly behind: number;
  /** When it was last heard of. */
  readonly seenAtMs: number;
  /** Whether it has not been heard of for half a minute. */
  readonly isAway: boolean;
  /** The control node that knows of it. */
  readonly via: string;
}

/** What is in a row. */
interface NodeRecord {
  readonly version: string;
  /** The id of the process that wrote it; undefined in rows of earlier versions. */
  readonly instance?: string;
  readonly sequence: number;
  readonly followers: readonly FollowerStatus[];
}

interface NodeRow extends Row {
  readonly name: string;
  readonly seen_at_ms: number;
  readonly body: string;
}

const WRITE_MS = 3_000;
const AWAY_MS = 30_000;
/** After this long a node that is gone is forgotten. */
const FORGET_MS = 86_400_000;

/** Options of {@link ControlNodes}. */
export interface ControlNodesOptions {
  /** The name of this node, as configured. */
  readonly name: string;
  /** Distinguishes this process from others of the same name. */
  readonly instance: string;
  readonly database: Database;
  readonly state: ControlState;
  readonly streams: FollowerStreams;
  /** Called with the name if another control node has it too, and with the one that this node is listed by instead. */
  readonly onSharedName: (node: string, listedName: string) => void;
  /** How often it writes what it knows. Default 3,000. */
  readonly writeMs?: number;
}

/** The nodes, as a control node knows them. */
export class ControlNodes {
  readonly #options: ControlNodesOptions;
  readonly #stop: () => void;
  #name: string;
  #hasWritten = false;

  constructor(options: ControlNodesOptions) {
    this.#options = options;
    this.#name = options.name;
    this.#stop = every(options.writeMs ?? WRITE_MS, () => void this.#write());
  }

  /** The name that this node is listed by. */
  get name(): string {
    return this.#name;
  }

  /** All nodes, control nodes first; this one and its followers as of now. */
  async list(): Promise<NodeStatus[]> {
    const { database } = this.#options;
    const name = this.#name;
    const rows = await database.query<NodeRow>(statements.listNodes);
    const others = rows
      .filter((row) => row.name !== name)
      .map((row) => ({ name: row.name, seenAtMs: row.seen_at_ms, record: read(row.body) }));
    const own = { name, seenAtMs: wallMs(), record: this.#toRecord() };
    const all = [own, ...others].flatMap((each) => this.#toStatuses(each));
    return all.sort((a, b) => compare(`${a.kind} ${a.name}`, `${b.kind} ${b.name}`));
  }

  /** Writes no more. */
  close(): void {
    this.#stop();
  }

  /** The next time is soon, so a failure does not matter. */
  async #write(): Promise<void> {
    const { database } = this.#options;
    const nowMs = wallMs();
    const body = JSON.stringify(this.#toRecord());
    try {
      await this.#leaveSharedName();
      await database.query(statements.writeNode, [this.#name, nowMs, body]);
      this.#hasWritten = true;
      await database.query(statements.forgetNodes, [nowMs - FORGET_MS]);
    } catch {
      // Followers of the changes report that the database is unavailable.
    }
  }

  /**
   * Where another process has written since this one wrote, both are running under one name: this one takes another.
   * The process before a restart does not write any more, so the name stays.
   */
  async #leaveSharedName(): Promise<void> {
    if (!this.#hasWritten) return;
    const { name, instance, database, onSharedName } = this.#options;
    const rows = await database.query<NodeRow>(statements.listNodes);
    const current = rows.filter((row) => wallMs() - row.seen_at_ms < AWAY_MS);
    const writers = new Map(current.map((row) => [row.name, read(row.body).instance ?? instance]));
    if ((writers.get(this.#name) ?? instance) === instance) return;
    let number = 2;
    while (writers.has(toListedName(name, number))) number++;
    this.#name = toListedName(name, number);
    onSharedName(name, this.#name);
  }

  #toRecord(): NodeRecord {
    const { state, streams, instance } = this.#options;
    const followers = streams.list();
    return { version: readVersion(), instance, sequence: state.sequence, followers };
  }

  #toStatuses({ name, seenAtMs, record }: KnownNode): NodeStatus[] {
    const { version, sequence, followers } = record;
    const isGone = wallMs() - seenAtMs >= AWAY_MS;
    const toStatus = (kind: NodeStatus["kind"], of: NodeFigures): NodeStatus => ({
      ...of,
      kind,
      behind: Math.max(0, this.#options.state.sequence - of.sequence),
      isAway: isGone || wallMs() - of.seenAtMs >= AWAY_MS,
      via: name,
    });
    return [
      toStatus("control", { name, version, sequence, seenAtMs }),
      // Rows of earlier versions have no listed name.
      ...followers.map(({ node, name: listed = node, version, sequence, seenAtMs }) =>
        toStatus("follower", { name: listed, version, sequence, seenAtMs }),
      ),
    ];
  }
}

type NodeFigures = Pick<NodeStatus, "name" | "version" | "sequence" | "seenAtMs">;

interface KnownNode {
  readonly name: string;
  readonly seenAtMs: number;
  readonly record: NodeRecord;
}

function read(body: string): NodeRecord {
  return JSON.parse(body) as NodeRecord;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
