// The feed of a worker: it gets its state from its primary, by requests between the two processes, in the same lines
// that followers get over HTTP.

import { ServerError } from "../../base/errors.js";
import type { Unsubscribe } from "../../database/database.js";
import type { LastUses } from "../keys/key-uses.js";
import type { ResolvingFeed } from "../state/control-feed.js";
import type { NodeSwitch, NodeSwitches } from "../state/node-switches.js";
import type { NodeChange, Snapshot, StatePosition } from "../state/state.js";
import type { ChangeHub } from "./change-hub.js";
import { LineSplitter, SnapshotReader } from "./feed-lines.js";

/** Asks the primary, and resolves with its answer. */
export type AskPrimary = (what: string, value?: unknown) => Promise<unknown>;

/** What a primary answers to its workers. */
export interface FeedHandlers {
  controlSnapshot(): Promise<readonly string[]>;
  /** Null: a snapshot is needed. */
  controlChanges(position: StatePosition): readonly string[] | null;
  /** Asks the control plane, and resolves with how long ago the primary's state was known to be current. */
  controlCatchUp(): Promise<number>;
  /** The switches of this node alone. */
  controlSwitches(): readonly NodeSwitch[];
  /** Stores the hours in which keys were used. */
  controlUses(uses: readonly (readonly [id: string, hour: number])[]): Promise<void>;
}

/** What the answers come from: a node. */
export interface FeedSource {
  readonly hub: ChangeHub;
  readonly ageMs: number;
  readonly nodeSwitches: NodeSwitches;
  catchUp(): Promise<void>;
  storeUses(uses: LastUses): Promise<void>;
}

/** The answers out of what a node has. */
export function toFeedHandlers(node: FeedSource): FeedHandlers {
  return {
    controlSnapshot: () => node.hub.snapshot(),
    controlChanges: (position) => node.hub.linesAfter(position) ?? null,
    controlCatchUp: async () => {
      await node.catchUp();
      return node.ageMs;
    },
    controlSwitches: () => node.nodeSwitches.list(),
    controlUses: (uses) => node.storeUses(new Map(uses)),
  };
}

/** The feed of a worker. */
export class IpcFeed implements ResolvingFeed {
  readonly #ask: AskPrimary;

  constructor(ask: AskPrimary) {
    this.#ask = ask;
  }

  async snapshot(): Promise<Snapshot> {
    const pieces = (await this.#ask("controlSnapshot")) as readonly string[];
    const [splitter, reader] = [new LineSplitter(), new SnapshotReader()];
    for (const piece of pieces) for (const line of splitter.add(piece)) reader.add(line);
    return reader.finish();
  }

  async changesAfter(position: StatePosition): Promise<readonly NodeChange[]> {
    const lines = (await this.#ask("controlChanges", position)) as readonly string[] | null;
    if (lines === null) {
      throw new ServerError("SLUICE_CONTROL_GAP", "the primary does not have the next change");
    }
    return lines.map((line) => JSON.parse(line) as NodeChange);
  }

  async storeUses(uses: LastUses): Promise<void> {
    await this.#ask("controlUses", [...uses]);
  }

  /** The primary asks its workers to catch up. */
  subscribe(): Unsubscribe {
    return () => {};
  }
}
