import { expect, it } from "vitest";
import { RegionServer, START_MS, Way } from "../../../../test/regions-rig.js";
import { fixedWindow } from "../../../limits/limits.js";
import { ManualClock } from "../../../testing/manual-clock.js";
import { MergedKeys } from "./merged-keys.js";
import { PeerRegion } from "./peer-region.js";
import { StoreClock } from "./store-clock.js";

const HOUR_MS = 3_600_000;
const counter = {
  scope: "test",
  part: 0,
  limit: fixedWindow({ limit: 100, windowMs: HOUR_MS }),
};
/** More than a call can have, and more than are announced together. */
const KEYS = 4_200;

/** The keys of a process, and another region that counts how many keys it is asked about. */
function stand() {
  const clock = new ManualClock(START_MS);
  const own = new StoreClock();
  const server = new RegionServer();
  own.learn({ resetMs: HOUR_MS * 12 } as never, START_MS, START_MS);
  const way = new Way(server);
  const setup = { clock, own, syncMs: 100, regions: 2, nodes: 1 };
  const peer = new PeerRegion("us", 0, way, setup);
  const keys = new MergedKeys({ region: "eu", keysMax: 10_000, peers: [peer] });
  /** What a process does every so often. */
  const tick = () => {
    clock.advance(100);
    const nowMs = clock.now();
    keys.wake(nowMs);
    for (const key of keys.active) key.sample(nowMs, own.at(nowMs));
    peer.announce(keys.active);
    keys.sweep(nowMs, own);
  };
  const admit = (name: string) => {
    const key = keys.of(counter, name);
    if (!key.isActive) {
      key.start(clock.now());
      keys.activate(key);
    }
    key.ask(1, clock.now(), true);
    key.add(1, own.at(clock.now()));
  };
  const used = (name: string) => server.used(counter, name, clock.now());
  return { keys, peer, way, tick, admit, used };
}

it("looks at no idle key again and again while a region is cut off, and announces them all when it is back", () => {
  const { keys, peer, way, tick, admit, used } = stand();
  way.fate = () => "lost";
  for (let i = 0; i < KEYS; i++) admit(`key ${i}`);
  for (let i = 0; i < 3; i++) tick();
  expect(keys.active.size).toBe(0);
  expect(peer.waiting.size).toBe(KEYS);
  const { lagMs } = peer.stats;
  expect(lagMs).toBeGreaterThanOrEqual(200);
  way.fate = () => "arrives";
  tick();
  // It answered about some of them only.
  expect(peer.stats.lagMs).toBe(lagMs + 100);
  for (let i = 0; i < 8; i++) {
    tick();
    expect(keys.active.size).toBeLessThanOrEqual(2_000);
  }
  expect(keys.active.size + peer.waiting.size).toBe(0);
  expect(peer.stats.lagMs).toBe(0);
  const wrong = Array.from({ length: KEYS }, (_, i) => `key ${i}`).filter((key) => used(key) !== 1);
  expect(wrong).toEqual([]);
});
