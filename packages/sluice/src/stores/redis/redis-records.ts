// Records in Redis: a string for each, read and changed by one script.

import { SluiceError, show } from "../../base/errors.js";
import type { RecordAnswer, RecordChange, RecordStore } from "../record-store.js";
import type { KeyNames } from "./keys.js";
import { scripts } from "./lua/scripts.js";
import type { CallTime } from "./script-calls/call-writer.js";
import type { Calls } from "./script-calls/script-calls.js";

/** What records have in common with the counters of a store. */
export interface RecordsSetup {
  readonly calls: Calls;
  readonly names: KeyNames;
  readonly time: () => CallTime;
}

/** Records on a server. */
export class RedisRecords implements RecordStore {
  readonly #setup: RecordsSetup;

  constructor(setup: RecordsSetup) {
    this.#setup = setup;
  }

  async read(name: string): Promise<RecordAnswer> {
    const { nowMs, value } = await this.#run(name, [""]);
    return { nowMs, value };
  }

  async change({ name, before, value, untilMs }: RecordChange): Promise<boolean> {
    const known = before === undefined ? ["0", ""] : ["1", before];
    const { isChanged } = await this.#run(name, [String(untilMs), ...known, value]);
    return isChanged;
  }

  async #run(name: string, args: readonly string[]) {
    const { calls, names, time } = this.#setup;
    const { nowMs, slackMs } = time();
    const timeArgs = [nowMs === undefined ? "" : String(nowMs), String(slackMs)];
    const keys = [names.record(name)];
    return toAnswer(
      await calls.run({ script: scripts.record, keys, args: [...timeArgs, ...args] }),
    );
  }
}

function toAnswer(reply: unknown): RecordAnswer & { readonly isChanged: boolean } {
  if (Array.isArray(reply) && typeof reply[0] === "number" && Array.isArray(reply[2])) {
    const [value] = reply[2] as readonly unknown[];
    return {
      nowMs: reply[0],
      isChanged: reply[1] === 1,
      value: value === undefined ? undefined : String(value),
    };
  }
  throw new SluiceError("SLUICE_STORE_UNAVAILABLE", `its reply can't be read: ${show(reply)}`);
}
