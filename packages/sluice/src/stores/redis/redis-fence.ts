// The record of the home region in Redis, and calls under an epoch: each runs the script that checks the record first.

import { SluiceError, show } from "../../base/errors.js";
import { type FenceReading, type FenceStore, type FenceSwap, isFenced } from "../fence-store.js";
import { fencedScripts, type Script, scripts } from "./lua/scripts.js";
import type { CallTime } from "./script-calls/call-writer.js";
import type { Calls, ScriptCall } from "./script-calls/script-calls.js";

/** What the record has in common with the counters of a store. */
export interface RedisFenceSetup {
  readonly calls: Calls;
  /** The key of the record. */
  readonly name: string;
  readonly isCluster: boolean;
  readonly time: () => CallTime;
}

const fencedTwins = new Map<Script, Script>(
  Object.entries(fencedScripts).map(([name, fenced]) => [
    scripts[name as keyof typeof fencedScripts],
    fenced,
  ]),
);

/** The record of one server. */
export class RedisFence implements FenceStore {
  readonly #setup: RedisFenceSetup;
  #refusals = 0;

  constructor(setup: RedisFenceSetup) {
    this.#setup = setup;
  }

  get refusals(): number {
    return this.#refusals;
  }

  async read(): Promise<FenceReading> {
    const { nowMs, text } = await this.#run("", "");
    return { nowMs, text };
  }

  swap({ expected, next }: Pick<FenceSwap, "expected" | "next">) {
    return this.#run(expected, next);
  }

  /** Calls that the server refuses unless it is home under this epoch. */
  callsUnder(epoch: number): FencedCalls {
    const { calls, name, isCluster } = this.#setup;
    if (isCluster) throw new SluiceError("SLUICE_OPTION_INVALID", "a Cluster can't be fenced");
    return {
      epoch,
      run: async ({ script, keys, args, ...how }) => {
        const fenced = fencedTwins.get(script);
        if (fenced === undefined) throw new Error("the script has no fenced twin");
        const call = { script: fenced, keys: [...keys, name], args: [...args, String(epoch)] };
        try {
          return await calls.run({ ...how, ...call });
        } catch (error) {
          if (isFenced(error)) this.#refusals++;
          throw error;
        }
      },
    };
  }

  async #run(expected: string, next: string): Promise<FenceReading & { isSwapped: boolean }> {
    const { calls, name, time } = this.#setup;
    const { nowMs, slackMs } = time();
    const args = [nowMs === undefined ? "" : String(nowMs), String(slackMs), expected, next];
    const reply = await calls.run({ script: scripts.home, keys: [name], args });
    const [atMs, replaced, text] = reply as [unknown, unknown, unknown];
    if (typeof atMs !== "number" || typeof text !== "string") {
      const seen = `its reply can't be read: ${show(reply)}`;
      throw new SluiceError("SLUICE_STORE_UNAVAILABLE", seen);
    }
    return { nowMs: atMs, text, isSwapped: replaced === 1 };
  }
}

/** Calls under one epoch. */
export interface FencedCalls {
  readonly epoch: number;
  run(call: ScriptCall): Promise<unknown>;
}
