// One slot of a cluster on its way from one primary to another, in the steps that operators'
// tools take: mark it on both sides, move the keys, then say who owns it.

import { idOf } from "./cluster-forming.js";
import type { RedisProcess } from "./redis-process.js";
import { RespConnection } from "./resp-connection.js";

/** What moves, from where to where, and who has to know. */
export interface SlotMove {
  readonly slot: number;
  readonly from: RedisProcess;
  readonly to: RedisProcess;
  readonly primaries: readonly RedisProcess[];
}

const keysEachRound = 100;
const roundsMax = 100_000;
const migrateMsMax = 2_000;

/** A migration that has begun. */
export class SlotMigration {
  readonly #move: SlotMove;

  private constructor(move: SlotMove) {
    this.#move = move;
  }

  /** Marks the slot on both sides: from now on, keys that are not at the source are at `to`. */
  static async open(move: SlotMove): Promise<SlotMigration> {
    const { slot, from, to } = move;
    await to.command("CLUSTER", "SETSLOT", slot, "IMPORTING", await idOf(from));
    await from.command("CLUSTER", "SETSLOT", slot, "MIGRATING", await idOf(to));
    return new SlotMigration(move);
  }

  /** Moves keys of the slot, all of them or at most `keysMax`, and returns how many it moved. */
  async moveKeys(keysMax: number = Number.POSITIVE_INFINITY): Promise<number> {
    const { slot, from, to } = this.#move;
    // Keys are bytes and not always text.
    const source = new RespConnection(from, "latin1");
    let moved = 0;
    try {
      for (let round = 0; round < roundsMax && moved < keysMax; round++) {
        const count = Math.min(keysEachRound, keysMax - moved);
        const keys = (await source.command("CLUSTER", "GETKEYSINSLOT", slot, count)) as string[];
        if (keys.length === 0) break;
        await source.command(
          ...["MIGRATE", to.host, to.port, "", 0, migrateMsMax],
          "KEYS",
          ...keys,
        );
        moved += keys.length;
      }
    } finally {
      source.close();
    }
    return moved;
  }

  /** Declares the new owner to all primaries, the new one first, so that no slot is without one. */
  async finish(): Promise<void> {
    const { slot, from, to, primaries } = this.#move;
    const owner = await idOf(to);
    const others = primaries.filter((node) => node !== to && node !== from);
    for (const node of [to, from, ...others])
      await node.command("CLUSTER", "SETSLOT", slot, "NODE", owner);
  }

  /** Takes the marks off again; keys that have moved stay where they are, so move none before. */
  async abandon(): Promise<void> {
    const { slot, from, to } = this.#move;
    await from.command("CLUSTER", "SETSLOT", slot, "STABLE");
    await to.command("CLUSTER", "SETSLOT", slot, "STABLE");
  }
}
