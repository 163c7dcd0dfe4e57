import { afterEach, describe, expect, it } from "vitest";
import { type FakeService, sendJson, startFakeService } from "../../../test/cli/fake-service.js";
import { sluice } from "../../../test/cli/fake-terminal.js";

let server: FakeService;
afterEach(() => server.close());

const key = ["--rule", "login", "--key", "ip:203.0.113.10"];

/** Every command that asks a running service. */
const COMMANDS: readonly (readonly string[])[] = [
  ["check"],
  ["peek"],
  ["explain"],
  ["reset", ...key],
  ["refund", ...key, "--cost", "1"],
  ["block", ...key],
  ["unblock", ...key],
  ["reload"],
  ["rules", "list"],
  ["rules", "disable", "login"],
  ["rules", "enable", "--all"],
  ["top", "--once"],
  ["top"],
];

describe.each(COMMANDS.map((args) => [args.join(" "), args] as const))("sluice %s", (_, args) => {
  it.each([
    ["a page", 200, "text/html", "<html>\x1b[2J</html>"],
    ["any JSON", 200, "application/json", "{}"],
    ["a list", 200, "application/json", "[]"],
    ["a refusal", 401, "application/json", '{"message":"no token"}'],
    ["a missing path", 404, "application/json", '{"detail":"not found"}'],
    ["a failure", 500, "text/plain", "oops"],
  ])(
    "exits with 3 and says what was found where another server answers %s, and sends it nothing but a probe",
    async (_answer, status, type, body) => {
      server = await startFakeService(
        (response) => response.writeHead(status, { "content-type": type, server: "x" }).end(body),
        { isSluice: false },
      );
      const { code, out, err } = await sluice([...args, "--admin", server.url, "--token", "t"]);
      expect({ code, out }).toEqual({ code: 3, out: "" });
      const found = `found HTTP ${status}, ${type}, Server: x (--admin`;
      expect(err).toContain(`sluice: ${server.url} is not the admin port of Sluice: ${found}`);
      expect(err.split("\n")).toHaveLength(2);
      expect(server.asked).toMatchObject([{ url: "/livez", authorization: undefined }]);
    },
  );

  it.each([{}, [], null, { version: 1 }, { allowed: "yes" }, { rules: [{}] }, { rules: "none" }])(
    "exits with 3 if the admin port answers %j, which does not fit the schema",
    async (answer) => {
      server = await startFakeService((response) => sendJson(response, 200, answer));
      const { code, out, err } = await sluice([...args, "--admin", server.url]);
      expect({ code, out }).toEqual({ code: 3, out: "" });
      expect(err).toMatch(
        /is not the admin port of Sluice: found an answer to \/v1\/.* does not fit/,
      );
    },
  );
});

it("does not follow a redirect, and says that there was one", async () => {
  server = await startFakeService(
    (response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    { isSluice: false },
  );
  const { code, err } = await sluice(["check", "--admin", server.url]);
  expect(code).toBe(3);
  expect(err).toContain("found HTTP 302, no content type");
});

describe("answers with control characters in every string", () => {
  const evil = "\x1b[2J\x9b2J\n\r\u202efake";
  const target = { rule: evil, key: evil };
  const numbers = { limit: 1, remaining: 1, retryAfterMs: null, resetMs: 1, delayMs: 1, cost: 1 };
  const explained = {
    ...{ rule: evil, place: evil, isMatch: true, onExceed: "reject", keyType: evil, key: evil },
    conditions: [{ on: "path", wanted: evil, isMet: true }],
    ...{ notApplied: "missing", from: "exception", switch: "on" },
    exception: { by: "tenant", value: evil, endsAtMs: null },
    limits: [{ ...numbers, algorithm: evil, wouldPass: false }],
    blockedMs: 1,
  };
  const listed = {
    ...{ id: evil, keyType: evil, onExceed: evil, isOn: true },
    match: { paths: [evil], methods: [evil] },
    limits: [{ [evil]: { [evil]: evil } }, { quota: { limit: evil, period: evil } }],
    tiers: { [evil]: [{ fixedWindow: { limit: evil, windowMs: evil } }] },
  };
  const rates = { allowedPerSecond: 1, blockedPerSecond: 1, shadowBlockedPerSecond: 1 };
  const hot = [{ ...target, perSecond: 1 }];
  const top = {
    ...{ version: evil, seconds: 1, hottest: hot, mostRefused: hot },
    rules: [{ rule: evil, keyType: evil, endpoint: evil, ...rates, allowed: 1, blocked: 1 }],
  };
  const decision = { ...numbers, ...target, allowed: false, reason: evil, source: evil };
  const block = { subject: evil, reason: evil, untilMs: null };
  const explanation = {
    ...{ ...numbers, version: evil, allowed: false, rule: evil, reason: null },
    ...{ block: null, switch: "on" },
  };
  const rules = { version: evil, rules: [listed] };

  it.each([
    [["check"], decision],
    [["peek"], { ...decision, allowed: true }],
    [["explain"], { ...explanation, rules: [explained] }],
    [["check"], { ...decision, reason: "blocked", blockedMs: 1e300 }],
    [["explain"], { ...explanation, reason: "blocked", rules: [explained] }],
    [["explain"], { ...explanation, reason: "blocked", rule: null, block, rules: [] }],
    [["reload"], { reloaded: true, version: evil }],
    [["rules", "list"], rules],
    [["rules", "disable", "login"], rules],
    [["refund", ...key, "--cost", "1"], { ...target, refunded: 1 }],
    [["top", "--once"], top],
  ])("sluice %j prints none of them", async (args, answer) => {
    server = await startFakeService((response) => sendJson(response, 200, answer));
    const { code, out, err } = await sluice([...args, "--admin", server.url]);
    expect(code).toBeLessThan(2);
    expect(err).toBe("");
    expect(out).toContain(args[0] === "refund" ? "1 unit" : "fake");
    expect(out).not.toMatch(/(?!\n)[\p{Cc}\u202e]|^.{0,3}fake/mu);
  });

  it.each([{}, { tokenBucket: { refill: null } }])("are refused with a limit %j", async (limit) => {
    server = await startFakeService((response) =>
      sendJson(response, 200, { ...rules, rules: [{ ...listed, limits: [limit] }] }),
    );
    const { code, err } = await sluice(["rules", "list", "--admin", server.url]);
    expect(code).toBe(3);
    expect(err).toContain("does not fit at rules.0.limits.0");
  });
});
