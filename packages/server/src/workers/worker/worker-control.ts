// The control plane in a worker: a copy of the primary's state, kept up to date over the channel between them.

import { readMs } from "../../base/clock.js";
import { type AskPrimary, IpcFeed } from "../../control/feed/ipc-feed.js";
import type { LastUses } from "../../control/keys/key-uses.js";
import type { ChangingState } from "../../control/state/enforced-state.js";
import { Follower } from "../../control/state/follower.js";
import { type NodeSwitch, NodeSwitches } from "../../control/state/node-switches.js";
import { type ControlState, notifyAll, type OnChanged } from "../../control/state/state.js";
import type { Unsubscribe } from "../../database/database.js";
import type { Telemetry } from "../../telemetry/telemetry.js";

const SWITCHES: Parameters<OnChanged>[0] = new Set(["switch"]);

/** A worker's copy of the state. */
export class WorkerControl implements ChangingState {
  readonly #ask: AskPrimary;
  readonly #feed: IpcFeed;
  readonly #follower: Follower;
  /** When the primary's state was known to be current. */
  #currentAtMs = Number.NEGATIVE_INFINITY;
  /** Those of the primary. */
  readonly nodeSwitches = new NodeSwitches();
  readonly #listeners = new Set<OnChanged>();
  readonly #beforeClose: (() => Promise<void>)[] = [];

  constructor(ask: AskPrimary, telemetry: Telemetry) {
    this.#ask = ask;
    this.#feed = new IpcFeed(ask);
    this.#follower = new Follower({
      feed: this.#feed,
      onChanged: (kinds) => this.#notify(kinds),
      onProblem: (what, error) => telemetry.problem(what, error),
    });
  }

  get state(): ControlState {
    return this.#follower.state;
  }

  onChanged(listener: OnChanged): Unsubscribe {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Loads the state. */
  async start(): Promise<void> {
    await Promise.all([this.#follower.start(), this.#takeSwitches()]);
    if (!this.#follower.hasState) throw new Error("the primary did not send its state");
  }

  /** How long ago the primary's state was known to be current, in milliseconds; Infinity if it never was. */
  get ageMs(): number {
    return readMs() - this.#currentAtMs;
  }

  /** Puts in force what the primary has. Never rejects. */
  async follow(): Promise<void> {
    await Promise.all([this.#follower.catchUp(), this.#takeSwitches()]);
    await this.#follower.inForce();
  }

  /** Takes over what the control plane has, which the primary asks. Never rejects. */
  async catchUp(): Promise<void> {
    const ageMs = (await this.#ask("controlCatchUp").catch(() => undefined)) as number | undefined;
    if (ageMs !== undefined) this.#currentAtMs = readMs() - ageMs;
    await Promise.all([this.#follower.catchUp(), this.#takeSwitches()]);
  }

  /** Stores the hours in which keys were used, through the primary. */
  storeUses(uses: LastUses): Promise<void> {
    return this.#feed.storeUses(uses);
  }

  /** Runs `task` before the copy is closed, which waits for it. */
  onClosing(task: () => Promise<void>): void {
    this.#beforeClose.push(task);
  }

  async #takeSwitches(): Promise<void> {
    const asked = await this.#ask("controlSwitches").catch(() => undefined);
    const switches = asked as readonly NodeSwitch[] | undefined;
    if (switches !== undefined && this.nodeSwitches.replace(switches)) await this.#notify(SWITCHES);
  }

  #notify(kinds: Parameters<OnChanged>[0]): Promise<void> | undefined {
    return notifyAll(this.#listeners, kinds);
  }

  async close(): Promise<void> {
    await Promise.all(this.#beforeClose.splice(0).map((task) => task()));
    await this.#follower.close();
  }
}
