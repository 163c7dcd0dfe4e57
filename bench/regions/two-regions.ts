// A process in one region, whose home region is another one, 200 ms away there and back: two Redis servers, and a proxy that
// holds back what goes to the farther one and counts it.

import { redisStore } from "sluice/redis";
import { createPolicy, type Policy } from "sluice/rules";
import { type FaultProxy, startFaultProxy } from "sluice-test-servers";
import { PATIENT } from "../redis/contenders.js";
import { connect, withRedis } from "../redis/server.js";

/** Between regions, there and back. */
export const ROUND_TRIP_MS = 200;

/** More than a process can spend. */
const limit = { tokenBucket: { capacity: 1_000_000_000, refillPerSecond: 100_000_000 } };

/** What a benchmark uses. */
export interface TwoRegions {
  /** In a region that leases from the home region. */
  readonly leased: Policy;
  /** The same rule in a region alone. */
  readonly alone: Policy;
  readonly way: FaultProxy;
}

/** Starts both regions, lets them be used, and stops them. */
export async function withTwoRegions<T>(use: (regions: TwoRegions) => Promise<T>): Promise<T> {
  return withRedis((near) =>
    withRedis(async (far) => {
      const way = await startFaultProxy({ port: far.port });
      const clients = await Promise.all([near, near, way].map(connect));
      const [us, alone, home] = clients.map((client) => redisStore(client));
      const rule = { id: "all", key: "user", limit, consistency: "leased", ...PATIENT };
      const policies = {
        leased: createPolicy({
          rules: { version: 1, rules: [{ ...rule, across: "leased" }] },
          regions: { self: "us", home: "eu", stores: { us, eu: home } },
        }),
        alone: createPolicy({
          rules: { version: 1, rules: [{ ...rule, id: "alone" }] },
          store: alone,
        }),
      };
      way.delay(ROUND_TRIP_MS / 2);
      try {
        return await use({ ...policies, way });
      } finally {
        await way.heal();
        await Promise.all([policies.leased.close(), policies.alone.close()]);
        for (const client of clients) client.disconnect();
        way.close();
      }
    }),
  );
}
