// Rules change while requests arrive: a file is watched, an invalid file changes nothing, what was used carries over,
// and a rule that does harm is disabled immediately.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPolicy, watchRules } from "sluice/rules";
import { ManualClock } from "sluice/testing";

const folder = mkdtempSync(join(tmpdir(), "rules-"));
const file = join(folder, "sluice.yaml");
const write = (limit: string) =>
  writeFileSync(file, `version: 1\nrules:\n  - { id: api, limit: ${limit} }\n`);

write("10/minute");
const clock = new ManualClock(); // Leave it out: then the file is looked at every second.
const policy = createPolicy({ rules: { version: 1, rules: [] }, clock });
const onError = (error: unknown) => console.log((error as Error).message.replaceAll(folder, ""));
const watch = watchRules(file, policy, { clock, onError });

const left = async () =>
  (await policy.peek({ method: "GET", path: "/", ip: "192.0.2.1" })).remaining;
for (let n = 0; n < 4; n++) await policy.admit({ method: "GET", path: "/", ip: "192.0.2.1" });
console.log(`of 10 a minute: ${await left()} left`);

write("20/minute");
clock.advance(2_000);
console.log(`of 20 a minute: ${await left()} left`);

write("ten");
clock.advance(2_000);
console.log(`after a bad file: ${await left()} left`);

policy.disable("api");
console.log(`switched off: ${await left()} left`);
policy.enable("api");
console.log(`on again: ${await left()} left`);

watch.close();
rmSync(folder, { recursive: true });

// Prints:
// of 10 a minute: 6 left
// of 20 a minute: 16 left
// invalid rules: rule "api": limit must be a rate such as 100/minute or 100/5m, got "ten" (/sluice.yaml:3)
// after a bad file: 16 left
// switched off: Infinity left
// on again: 16 left
