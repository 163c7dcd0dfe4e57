import { beforeEach, describe, expect, it } from "vitest";
import { RegionServer, START_MS } from "../../../../test/regions-rig.js";
import { fixedWindow } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { ForwardingStore } from "../../forwarding-store.js";
import type { Charge, Counter, CounterStatus, Outcome } from "../../store.js";
import { MergedStore } from "./merged.js";

const HOUR_MS = 3_600_000;
const counter: Counter = {
  scope: "test",
  part: 0,
  limit: fixedWindow({ limit: 1_000_000, windowMs: HOUR_MS }),
};

/** A region whose store does what it is asked immediately, and answers when the test lets it. */
class SlowRegion extends ForwardingStore {
  readonly server: RegionServer;
  readonly #answers: (() => void)[] = [];

  constructor(server: RegionServer) {
    super(server);
    this.server = server;
  }

  override debit(charges: readonly Charge[]): Promise<readonly CounterStatus[]> {
    return this.#later(this.server.debit(charges));
  }

  override refund(charges: readonly Charge[]): Promise<void> {
    return this.#later(this.server.refund(charges));
  }

  async answer(): Promise<void> {
    for (const answer of this.#answers.splice(0)) answer();
    for (let turns = 0; turns < 20; turns++) await undefined;
  }

  #later<T>(value: T): Promise<T> {
    return new Promise((resolve) => this.#answers.push(() => resolve(value)));
  }
}

/** A process whose clock is ahead of those of both regions' stores by so much. */
function toProcess(aheadMs: number) {
  const clock = new ManualClock(START_MS);
  const peer = new SlowRegion(new RegionServer(-aheadMs));
  const peers = new Map([["us", peer]]);
  const process = new MergedStore(new RegionServer(-aheadMs), { region: "eu", peers, clock });
  return {
    clock,
    peer,
    process,
    used: () => peer.server.used(counter, "a", clock.now()),
    /** Rounds of announcements, each answered before the next one. */
    rounds: async (times: number) => {
      for (let i = 0; i < times; i++) {
        clock.advance(100);
        await peer.answer();
      }
    },
  };
}

describe("what was admitted while an answer was under way", () => {
  let all: ReturnType<typeof toProcess>;
  const ask = (cost: number) =>
    all.process.decide([{ counter, key: "a", cost, nowMs: all.clock.now() }], { hold: true });
  beforeEach(() => {
    all = toProcess(0);
  });

  it("is announced, also if the units known before happen to be as many", async () => {
    const { receipts } = ask(2) as Outcome;
    await all.rounds(3);
    expect(all.used()).toBe(2);
    all.process.settle([{ receipt: receipts[0], kept: 1, nowMs: all.clock.now() }]);
    // Sends the refund, whose answer is under way.
    all.clock.advance(100);
    expect(all.used()).toBe(1);
    ask(1);
    all.clock.advance(200);
    await all.rounds(3);
    expect(all.used()).toBe(2);
  });
});

it("is announced to a region whose clock was not known yet, wherever the clock of the process is", async () => {
  for (const aheadMs of [-2 * HOUR_MS, 0, 2 * HOUR_MS]) {
    const { clock, process, rounds, used } = toProcess(aheadMs);
    process.decideOne(counter, "a", 1, clock.now());
    clock.advance(100);
    await rounds(3);
    expect(used(), `${aheadMs} ms ahead`).toBe(1);
  }
});

it("does not say that a region knows everything before it does", async () => {
  const { clock, process, peer, used } = toProcess(2 * HOUR_MS);
  process.decideOne(counter, "a", 1, clock.now());
  clock.advance(100);
  await peer.answer();
  clock.advance(50);
  // The first exchange only said which window the region is in.
  expect(used()).toBe(0);
  expect(process.stats.peers[0].lagMs).toBe(50);
  clock.advance(50);
  clock.advance(70);
  expect(process.stats.peers[0].lagMs).toBe(170);
  await peer.answer();
  expect(used()).toBe(1);
});
