// The control plane in a worker: a copy of the primary's state, kept up to date over the channel between them.

import type { Unsubscribe } from "../../control/database/database.js";
import type { ChangingState } from "../../control/enforced-state.js";
import { type AskPrimary, IpcFeed } from "../../control/feed/ipc-feed.js";
import { Follower } from "../../control/follower.js";
import type { ControlState, OnChanged } from "../../control/state.js";
import type { Telemetry } from "../../telemetry/telemetry.js";

/** A worker's copy of the state. */
export class WorkerControl implements ChangingState {
  readonly #follower: Follower;
  readonly #listeners = new Set<OnChanged>();

  constructor(ask: AskPrimary, telemetry: Telemetry) {
    this.#follower = new Follower({
      feed: new IpcFeed(ask),
      onChanged: (kinds) => {
        for (const listener of this.#listeners) listener(kinds);
      },
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
    await this.#follower.start();
    if (!this.#follower.hasState) throw new Error("the primary did not send its state");
  }

  /** Puts in force what the primary has. Resolves with the last change of it. */
  async catchUp(): Promise<number> {
    await this.#follower.catchUp();
    return this.state.sequence;
  }

  close(): Promise<void> {
    return this.#follower.close();
  }
}
