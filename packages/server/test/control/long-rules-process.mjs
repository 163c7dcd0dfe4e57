// A control node that serves decisions while it is sent a rule set of a megabyte. It writes how long each request took,
// and the longest time in which no decision was made meanwhile.

import { join } from "node:path";
import { startService, toConfig } from "../../dist/index.js";

const [folder, database] = process.argv.slice(2);
const token = "an-admin-token-of-16";
const config = {
  decision: { listen: "127.0.0.1:0" },
  admin: { listen: "127.0.0.1:0", token },
  control: { database },
  telemetry: { logLevel: "silent" },
  rules: { version: 1, rules: [{ id: "first", key: "ip", limit: "5/minute" }] },
};
const service = await startService(toConfig(config, { file: join(folder, "sluice.yaml") }));
const admin = service.listeners.find(({ name }) => name === "admin").url;

let isOver = false;
let longestMs = 0;
const deciding = (async () => {
  for (let lastMs = performance.now(); !isOver; ) {
    await service.core.policy.admit({ method: "GET", path: "/v1/a", ip: "10.0.0.1" });
    await new Promise((resolve) => setTimeout(resolve, 1));
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }
})();

async function ask(path, body) {
  const payload = JSON.stringify(body);
  await new Promise((resolve) => setTimeout(resolve, 100));
  longestMs = 0;
  const startMs = performance.now();
  const response = await fetch(admin + path, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: payload,
  });
  const answer = await response.json();
  const tookMs = performance.now() - startMs;
  console.log(JSON.stringify({ path, status: response.status, answer: { ...answer, text: undefined }, tookMs, longestMs }));
  return answer;
}

const rule = (n) => `  - { id: rule-${n}, match: { path: /v1/resource-${n}/* }, key: ip, limit: 1000/minute }\n`;
const toText = (length) => `version: 1\nrules:\n${Array.from({ length }, (_, n) => rule(n)).join("")}`;
const text = toText(12_500);
await ask("/v1/rule-sets/validate", { text });
await ask("/v1/rule-sets/validate", { text: `${toText(300)}  - { id: last, limit: 5/minut }\n` });
const { number } = await ask("/v1/rule-sets", { text });
await ask(`/v1/rule-sets/${number}/publish`, { note: "long" });
console.log(JSON.stringify({ rules: service.core.policy.rules.rules.length }));
isOver = true;
await deciding;
await service.close();
