// Blocks of operators under limits that requests bring along.

import { callerBlocks } from "sluice/rules";
import { stopAll } from "sluice-test-servers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openUntilStop, type TestListener } from "../../../test/decision-listener.js";
import { policiesOf } from "../../core/create-core.js";

const BLOCKED = ["user:42", "tenant:acme", "apiKey:7Hq2mZpVw9Tb", "ip:203.0.113.0/24", "user:a|b"];
const PERMITS = { concurrency: { limit: 5, permitMs: 1_000 } };

let test: TestListener;
beforeAll(async () => {
  test = await openUntilStop();
  const blocks = callerBlocks([
    { subject: [...BLOCKED, "ip:2001:db8::/32"], reason: "abuse" },
    { subject: "user:43", reason: "a while", endsAtMs: test.clock.now() + 5_000 },
  ]);
  for (const policy of policiesOf(test.core)) policy.blockCallers(blocks);
});
afterAll(stopAll);

const check = async (key: string) =>
  (await test.post("/v1/check", { limit: "5/minute", key, name: "mail" })).body;

describe("a limit that a request brings along", () => {
  it.each([
    ...BLOCKED.filter((subject) => !subject.startsWith("ip:")),
    "ip:203.0.113.10",
    "ip:2001:db8::/64",
    "ip: 203.0.113.10 ",
    "tenant:beta|user:42",
    "ip:198.51.100.1|user:42",
  ])("refuses %s, who is blocked by an operator", async (key) => {
    const refused = { allowed: false, reason: "blocked", remaining: 0, retryAfterMs: null };
    expect(await check(key)).toMatchObject(refused);
    for (const verb of ["peek", "reserve"]) {
      const { body } = await test.post(`/v1/${verb}`, { limit: "5/minute", key });
      expect(body).toMatchObject(refused);
      expect(body.id).toBeUndefined();
    }
    const { body } = await test.post("/v1/acquire", { limit: PERMITS, key });
    expect(body).toMatchObject(refused);
    const { answers } = (
      await test.post("/v1/check", {
        requests: [
          { limit: "50/minute", key: "user:1" },
          { limit: "5/minute", key },
        ],
      })
    ).body as { answers: object[] };
    expect(answers).toMatchObject([{ allowed: true }, refused]);
  });

  it.each([
    "user:421",
    "42",
    "users:42",
    "user",
    "mail to user:42",
    "ip:198.51.100.1",
    "tenant:",
    "ip:x",
  ])("decides %s, who is not blocked", async (key) => {
    expect(await check(key)).toMatchObject({ allowed: true, remaining: 4 });
  });

  it("decides again when the block has ended", async () => {
    expect(await check("user:43")).toMatchObject({ allowed: false, retryAfterMs: 5_000 });
    test.clock.advance(5_000);
    expect(await check("user:43")).toMatchObject({ allowed: true, remaining: 4 });
  });

  it("that is not valid is an error for a blocked caller too", async () => {
    const { status } = await test.post("/v1/check", { limit: "5/minut", key: "user:42" });
    expect(status).toBe(400);
  });
});
