// One limit for callers that appear in three regions. The stores are in memory so that the example runs anywhere; in
// production each is the Redis of its region.

import { memoryStore } from "sluice";
import { createPolicy } from "sluice/rules";

const stores = { eu: memoryStore(), us: memoryStore(), ap: memoryStore() };
const rules = {
  version: 1,
  rules: [
    { id: "api", key: "user", limit: "90/minute", across: "split" },
    { id: "login", key: "user", limit: "4/minute", across: "central", match: { path: "/login" } },
  ],
};

const inRegion = (self: string) =>
  createPolicy({ rules, regions: { self, home: "eu", stores, weights: { eu: 4, us: 4, ap: 1 } } });
const regions = { eu: inRegion("eu"), us: inRegion("us"), ap: inRegion("ap") };

const count = async (region: keyof typeof regions, path: string, requests: number) => {
  let allowed = 0;
  for (let i = 0; i < requests; i++) {
    const decision = await regions[region].admit({ method: "POST", path, user: "42" });
    if (decision.allowed) allowed++;
  }
  return allowed;
};

console.log(
  "login:",
  await count("us", "/login", 3),
  "in us, then",
  await count("ap", "/login", 3),
);
console.log("api:", await count("eu", "/orders", 100), "in eu,", await count("ap", "/orders", 100));

const { rules: explained } = await regions.us.explain({
  method: "POST",
  path: "/login",
  user: "42",
});
for (const { rule, across, region } of explained) console.log(rule, across, "decided in", region);

// Prints:
// login: 3 in us, then 1
// api: 40 in eu, 9
// api split decided in us
// login central decided in eu
