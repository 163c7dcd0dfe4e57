import { afterEach, describe, expect, it } from "vitest";
import { type FakeService, sendJson, startFakeService } from "../../../test/cli/fake-service.js";
import { sluice } from "../../../test/cli/fake-terminal.js";

let service: FakeService;
afterEach(() => service.close());

const start = async (answer: object) => {
  service = await startFakeService((response) => sendJson(response, 200, answer));
  return service.url;
};

describe("sluice escalations", () => {
  const items = [
    { rule: "login", key: "hmac:0011223344556677", level: 2, blockedMs: 600_000 },
    { rule: "api", key: "user:\u001b[31m42", level: 1, blockedMs: null },
  ];

  it("lists rule, key, level and how long it lasts, as text and as JSON", async () => {
    const url = await start({ items });
    const words = await sluice(["escalations", "--admin", url]);
    expect(words.code).toBe(0);
    expect(words.out).toMatch(
      /^rule +key +level +blocked\nlogin +hmac:0011223344556677 +2 +for 10 minutes, until .* UTC\n/,
    );
    expect(words.out).toMatch(/api .* 1 +until it is unblocked\n$/);
    expect(words.out).not.toContain("\u001b");
    const json = await sluice(["escalations", "--limit", "5", "--json", "--admin", url]);
    expect(JSON.parse(json.out)).toEqual({ items });
    expect(service.asked.map((asked) => asked.url)).toEqual([
      "/v1/escalations",
      "/v1/escalations?limit=5",
    ]);
  });

  it("says so where there are none, and asks before it shows keys", async () => {
    const url = await start({ items: [] });
    const none = await sluice(["escalations", "--admin", url]);
    expect(none.out).toBe("no key is blocked by an escalation of this node\n");
    const unasked = await sluice(["escalations", "--clear-keys", "--admin", url]);
    expect(unasked.code).toBe(2);
    await sluice(["escalations", "--clear-keys", "--yes", "--admin", url]);
    expect(service.asked.map((asked) => asked.url)).toEqual([
      "/v1/escalations",
      "/v1/escalations?keys=clear",
    ]);
  });
});
