// A home region that is lost, and its standby that takes over. The stores are in memory and time is moved by hand, so that
// the example runs anywhere; in production each store is the Redis of its region.

import { memoryStore } from "sluice";
import { createPolicy, homeControl } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const clock = new ManualClock(Date.UTC(2026, 0, 1));
const stores = { eu: memoryStore(), us: memoryStore() };
const regions = { self: "us", home: "eu", standby: "us", stores };
const rules = {
  version: 1,
  rules: [
    { id: "login", key: "user", limit: "10/minute", across: "central", match: { path: "/login" } },
    { id: "exports", key: "user", limit: "5/day", across: "central", match: { path: "/exports" } },
  ],
};
const policy = createPolicy({ rules, regions, clock });
const control = homeControl(regions, { clock });

const count = async (path: string) => {
  let allowed = 0;
  for (let i = 0; i < 20; i++) {
    if ((await policy.admit({ method: "POST", path, user: "42" })).allowed) allowed++;
  }
  return allowed;
};
const show = async (when: string) => {
  const home = await control.show();
  console.log(
    `${when}: ${home?.home}, ${await count("/login")} logins, ${await count("/exports")} exports`,
  );
};

const pass = async (seconds: number) => {
  for (let i = 0; i < seconds; i++) {
    clock.advance(1_000);
    await control.show();
  }
};

await show("at first");
const promotion = await control.promote("us");
console.log(promotion);
await show("fenced");
await pass(6);
// A limit of a day starts full; one of a minute waits, so that it is not exceeded.
await show("after 6 s");
await pass(60);
await show("after a minute");
await policy.close();
control.close();

// Prints:
// at first: eu, 10 logins, 5 exports
// {
//   isPromoted: true,
//   epoch: 2,
//   home: 'us',
//   isOldHomeFenced: true,
//   opensInMs: 6000
// }
// fenced: us, 0 logins, 0 exports
// after 6 s: us, 0 logins, 5 exports
// after a minute: us, 10 logins, 0 exports
