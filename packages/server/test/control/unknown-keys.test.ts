// A flood of invented API keys, each well formed, so that only the control plane can say that it is unknown. The
// database is asked a bounded number of times, memory stays flat, and known keys are resolved meanwhile. `npm run soak`
// sends a million.

import { ManualClock } from "sluice/testing";
import { memoryInUse } from "sluice-test-servers";
import { afterAll, describe, expect, it } from "vitest";
import { ControlPlane } from "../../src/control/control-plane.js";
import { DatabaseFeed } from "../../src/control/feed/database-feed.js";
import {
  ControlKeyResolver,
  lookUpByCatchingUp,
} from "../../src/control/key-resolver/control-key-resolver.js";
import { fillFromSystem, makeSecret } from "../../src/control/secret-format.js";
import { Follower } from "../../src/control/state/follower.js";
import { testDatabases } from "./databases.js";

const KEYS = Number(process.env.SLUICE_UNKNOWN_KEYS ?? 50_000);
const KEYS_PER_SECOND = 100_000;
const LOOKUPS_PER_SECOND = 100;
/** Keys that arrive in one millisecond, and are waited for together. */
const BATCH = KEYS_PER_SECOND / 1_000;
/** The bounded memory of look-ups, and what a test run needs itself. All keys of the flood would take more. */
const BYTES_MAX = 5_000_000;

const all = testDatabases();
afterAll(() => Promise.all(all.map((each) => each.stop())));

const by = (id: string) => ({ id, actor: "anna", origin: "local", reason: "a test" });

describe.each(all)("a flood of unknown API keys at a node with $name", (databases) => {
  it(`of ${KEYS} keys is looked up ${LOOKUPS_PER_SECOND} times a second, in bounded memory, and known keys work`, async () => {
    const database = await databases.ready();
    const plane = new ControlPlane({ database });
    await plane.tenants.put(by("tenant"), { id: "acme", input: {} });
    const known = await plane.apiKeys.create(by("key"), { tenant: "acme", name: "server" });
    const feed = new DatabaseFeed(database);
    let questions = 0;
    const follower = new Follower({
      feed: {
        snapshot: () => feed.snapshot(),
        changesAfter(position) {
          questions++;
          return feed.changesAfter(position);
        },
        subscribe: () => () => {},
      },
      // It asks for look-ups only.
      pollMs: 3_600_000,
    });
    await follower.start();
    questions = 0;
    const clock = new ManualClock(1_700_000_000_000);
    const lookUp = lookUpByCatchingUp(follower);
    let lookups = 0;
    const resolver = new ControlKeyResolver({
      state: follower.state,
      lookUp: (id) => {
        lookups++;
        return lookUp(id);
      },
      lookupsPerSecond: LOOKUPS_PER_SECOND,
      unknownKeys: "refuse",
      clock,
    });
    const counts = new Map<unknown, number>();
    const flood = async (keys: number) => {
      for (let n = 0; n < keys; n += BATCH) {
        const sent = Array.from({ length: BATCH }, () => makeSecret("apiKey", fillFromSystem));
        const answers = await Promise.all(sent.map(({ secret }) => resolver.resolve(secret)));
        for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
        expect(resolver.resolve(known.secret)).toMatchObject({ tenant: "acme" });
        clock.advance(1);
      }
    };
    // What is made once is there before it is weighed.
    await flood(KEYS / 10);
    const before = memoryInUse();
    await flood(KEYS);
    expect(memoryInUse() - before).toBeLessThan(BYTES_MAX);
    resolver.close();
    await follower.close();

    const sent = KEYS + KEYS / 10;
    const seconds = sent / KEYS_PER_SECOND;
    expect(lookups).toBeGreaterThan(0);
    expect(lookups).toBeLessThanOrEqual(LOOKUPS_PER_SECOND * (1 + seconds));
    expect(questions).toBeGreaterThan(0);
    expect(questions).toBeLessThanOrEqual(2 * lookups);
    const [unchecked, unknown] = [counts.get("unchecked"), counts.get(undefined)];
    expect({ unchecked, unknown }).toEqual({ unchecked: sent - lookups, unknown: lookups });
  });
});
