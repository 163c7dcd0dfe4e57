import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import { type FakeService, sendJson, startFakeService } from "../../../test/cli/fake-service.js";
import { sluice } from "../../../test/cli/fake-terminal.js";

const folder = makeFolder("ask");
let service: FakeService;
afterEach(() => service.close());

const allowed = { allowed: true, rule: "login", limit: 5, remaining: 4, retryAfterMs: 0 };
const refused = { ...allowed, allowed: false, reason: "limit", remaining: 0, retryAfterMs: 1_000 };

async function start(status: number, answer: unknown): Promise<string> {
  service = await startFakeService((response) => sendJson(response, status, answer));
  return service.url;
}

describe("sluice check and peek", () => {
  it("send every fact that a flag has, and the token of the environment", async () => {
    const url = await start(200, allowed);
    const flags =
      "--method POST --path /login --host example.com --ip 203.0.113.10 --user 42 --tenant acme --tier pro " +
      "--api-key-hash abc --header X-App=ios --header x-empty= --attribute country=DE --cost 3";
    const { code, out } = await sluice(["check", "--admin", url, ...flags.split(" ")], {
      env: { SLUICE_ADMIN_TOKEN: "secret", SLUICE_ADMIN: "http://127.0.0.1:1" },
    });
    expect({ code, out }).toEqual({ code: 0, out: "allowed  login: 4 of 5 left\n" });
    expect(service.asked).toEqual([
      {
        method: "POST",
        url: "/v1/check",
        authorization: "Bearer secret",
        body: {
          cost: 3,
          facts: {
            method: "POST",
            path: "/login",
            host: "example.com",
            ip: "203.0.113.10",
            user: "42",
            tenant: "acme",
            tier: "pro",
            apiKeyHash: "abc",
            headers: { "x-app": "ios", "x-empty": "" },
            attributes: { country: "DE" },
          },
        },
      },
    ]);
  });

  it("find the service where SLUICE_ADMIN says, unless a flag does", async () => {
    const SLUICE_ADMIN = (await start(200, allowed)).replace("http://", "");
    expect((await sluice(["check"], { env: { SLUICE_ADMIN } })).code).toBe(0);
  });

  it("exit with 1 where the request is refused, in words and in JSON", async () => {
    const url = await start(200, refused);
    const words = await sluice(["peek", "--admin", url]);
    expect(words).toEqual({
      code: 1,
      out: "refused  login: 0 of 5 left, again in 1 second\n",
      err: "",
    });
    const json = await sluice(["peek", "--admin", url, "--json"]);
    expect(json).toEqual({ code: 1, out: `${JSON.stringify(refused)}\n`, err: "" });
    expect(service.asked[0]).toMatchObject({
      url: "/v1/peek",
      authorization: undefined,
      body: { facts: { method: "GET", path: "/" } },
    });
  });

  it("take facts from a file or the standard input, and flags win over it", async () => {
    const url = await start(200, allowed);
    const facts = { path: "/api", user: "1", headers: { "x-app": "ios", accept: "*/*" } };
    const file = join(folder, "facts.json");
    writeFileSync(file, JSON.stringify(facts));
    const flags = ["--user", "2", "--header", "X-App=web"];
    await sluice(["check", "--admin", url, "--facts", file, ...flags]);
    await sluice(["check", "--admin", url, "--facts", "-"], { input: '{"path":"/x"}' });
    expect(service.asked.map(({ body }) => body)).toEqual([
      {
        facts: {
          method: "GET",
          path: "/api",
          user: "2",
          headers: { "x-app": "web", accept: "*/*" },
        },
      },
      { facts: { method: "GET", path: "/x" } },
    ]);
  });

  it.each([
    [["--header", "novalue"], '--header must be name=value, got "novalue"'],
    [["--attribute", "=x"], '--attribute must be name=value, got "=x"'],
    [["--ip", "banana"], '--ip must be an address such as 203.0.113.10, got "banana"'],
    [["--ip", "1.2.3"], '--ip must be an address such as 203.0.113.10, got "1.2.3"'],
    [["--cost", "-1"], "--cost must be a whole number"],
    [["--admin", "ftp://127.0.0.1"], "--admin must be an address such as http://127.0.0.1:9090"],
    [["--admin", "http://"], "--admin must be an address such as http://127.0.0.1:9090"],
    [["--admin", "9090"], '--admin must be an address such as http://127.0.0.1:9090, got "9090"'],
    [["--admin", "http://9090/"], "--admin must be an address such as http://127.0.0.1:9090"],
    [["--admin", "0x7f000001:9090"], "--admin must be an address such as http://127.0.0.1:9090"],
    [["--token", "a\nb"], "the token has invalid characters"],
    [["--facts", "-"], "standard input: "],
  ])("refuse %j with one line and exit with 2", async (flags, line) => {
    const url = await start(200, allowed);
    const { code, out, err } = await sluice(["check", "--admin", url, ...flags], { input: "[" });
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`sluice: ${line}`);
    expect(err.split("\n")).toHaveLength(2);
    expect(service.asked).toEqual([]);
  });
});

describe("sluice explain", () => {
  it("shows conditions about the client, and when a rule blocks", async () => {
    const rule = {
      ...{ rule: "login", place: null, isMatch: true, notApplied: null, onExceed: "reject" },
      ...{ keyType: "ip", key: "ip:203.0.113.10", from: "rule", exception: null, switch: "on" },
      conditions: [{ on: "client", wanted: "country: DE", isMet: true }],
      escalate: { refusals: 1, windowMs: 60_000, blocksMs: [60_000], forgetMs: 60_000 },
      ...{ limits: [], blockedMs: 0 },
    };
    const url = await start(200, {
      ...{ version: "5d0f", allowed: true, rule: "login", reason: null, retryAfterMs: 0 },
      ...{ delayMs: 0, block: null, switch: "on", rules: [rule] },
    });
    const { code, out } = await sluice(["explain", "--admin", url]);
    expect(code).toBe(0);
    expect(out).toContain("  yes  client country: DE\n");
    expect(out).toContain("  blocks the key after 1 refusal in 1 minute: for 1 minute\n");
  });
});

describe("what goes wrong on the way to the service", () => {
  it("says which scheme to write if https:// meets a server without TLS", async () => {
    const url = (await start(200, {})).replace("http:", "https:");
    const { code, err } = await sluice(["check", "--admin", url]);
    expect(code).toBe(3);
    expect(err).toContain("speaks plain HTTP, not TLS: write http:// instead of https://");
    expect(err).not.toContain("SSL routines");
  });

  it("is reported in one line with the address, and exits with 3, where nothing listens", async () => {
    const url = await start(200, allowed);
    await service.close();
    service = await startFakeService(() => {});
    const { code, err } = await sluice(["check", "--admin", url]);
    expect(code).toBe(3);
    expect(err).toMatch(
      /^sluice: could not reach http:\/\/127.0.0.1:\d+: nothing listens there .*\n$/,
    );
  });

  it("exits with 3 where the connection is cut before the answer", async () => {
    service = await startFakeService((response) => response.destroy());
    const { code, err } = await sluice(["check", "--admin", service.url]);
    expect(code).toBe(3);
    expect(err).toMatch(/the connection was cut/);
  });

  it.each([
    ["needs a token", []],
    ["rejected the token", ["--token", "secret"]],
  ])("exits with 3 and says that the port %s, and how to pass it, with %j", async (said, flags) => {
    const url = await start(401, { title: "no" });
    const { code, err } = await sluice(["check", "--admin", url, ...flags]);
    expect(code).toBe(3);
    expect(err).toBe(
      `sluice: ${url} ${said}: pass --token, or set SLUICE_ADMIN_TOKEN (the first start prints one once, and \`sluice tokens create\` makes more)\n`,
    );
  });

  it("exits with 2 and the service's words where it does not understand the question", async () => {
    const url = await start(404, { title: "unknown", detail: 'unknown rule: "x"' });
    const { code, err } = await sluice(["reset", "--admin", url, "--rule", "x", "--key", "ip:1"]);
    expect({ code, err }).toEqual({ code: 2, err: 'sluice: unknown rule: "x"\n' });
  });

  it("exits with 1 and all lines where the service can't use its files", async () => {
    const detail = "invalid rules: 2 problems\n  one\x1b[2J\n  two";
    const url = await start(500, { code: "SLUICE_RULES_INVALID", detail });
    const { code, err } = await sluice(["reload", "--admin", url]);
    expect(code).toBe(1);
    expect(err).toBe("sluice: invalid rules: 2 problems\n  one�[2J\n  two\n");
  });

  it("exits with 3 where the service fails", async () => {
    const { code, err } = await sluice(["check", "--admin", await start(503, { detail: "away" })]);
    expect(code).toBe(3);
    expect(err).toMatch(/answered 503: away\n$/);
  });
});

describe("a rule that the service does not know", () => {
  const detail = "unknown rule";
  const key = ["--key", "ip:1"];

  async function startWith(...ids: string[]): Promise<string> {
    service = await startFakeService((response, { url }) => {
      if (url !== "/v1/rules") return sendJson(response, 404, { detail });
      const rule = { keyType: "ip", match: { paths: [], methods: [] }, limits: [], tiers: {} };
      const rules = ids.map((id) => ({ id, ...rule, onExceed: "reject", isOn: true }));
      return sendJson(response, 200, { version: "1", rules });
    });
    return service.url;
  }

  it.each([
    [["reset", "--rule", "logn", ...key]],
    [["block", "--rule", "logn", ...key]],
    [["unblock", "--rule", "logn", ...key]],
    [["refund", "--rule", "logn", ...key, "--cost", "1"]],
    [["rules", "disable", "logn"]],
    [["rules", "enable", "logn"]],
  ])("is reported by %j with the closest match", async (args) => {
    const url = await startWith("api", "login");
    const { code, err } = await sluice([...args, "--admin", url]);
    expect({ code, err }).toEqual({ code: 2, err: `sluice: ${detail}; did you mean login?\n` });
  });

  it("is reported with the known ones where none is close", async () => {
    const url = await startWith("api", "login");
    const { err } = await sluice(["rules", "disable", "nothing", "--admin", url]);
    expect(err).toBe(`sluice: ${detail}; the rules are api, login\n`);
  });

  it("is reported without a hint where it is not the rule that is missing", async () => {
    const url = await startWith("login");
    const { err } = await sluice(["reset", "--rule", "login", ...key, "--admin", url]);
    expect(err).toBe(`sluice: ${detail}\n`);
  });
});

describe("sluice reset, refund, block and unblock", () => {
  const key = ["--rule", "login", "--key", "ip:203.0.113.10"];

  it.each([
    ["reset", [], {}, { reset: true }, "login ip:203.0.113.10: what was used is forgotten\n"],
    ["refund", ["--cost", "3"], { cost: 3 }, { refunded: 3 }, ": 3 units refunded\n"],
    ["block", [], { forMs: 600_000 }, { blocked: true }, ": blocked for 10 minutes\n"],
    [
      "block",
      ["--for", "90s"],
      { forMs: 90_000 },
      { blocked: true },
      "blocked for 1 minute 30 seconds\n",
    ],
    ["block", ["--for", "forever"], { forMs: null }, { blocked: true }, "until it is unblocked\n"],
    ["unblock", [], {}, { blocked: false, wasBlocked: true }, ": unblocked\n"],
    ["unblock", [], {}, { blocked: false, wasBlocked: false }, ": was not blocked\n"],
  ])("%s %j asks the service and says what was done", async (verb, flags, more, done, said) => {
    const url = await start(200, { rule: "login", key: "ip:203.0.113.10", ...more, ...done });
    const { code, out } = await sluice([verb, "--admin", url, ...key, ...flags]);
    expect(code).toBe(0);
    expect(out).toContain(said);
    const body = { rule: "login", key: "ip:203.0.113.10", ...more };
    expect(service.asked).toMatchObject([{ url: `/v1/${verb}`, body }]);
  });

  it("refund says so if less was in use than was to be refunded", async () => {
    const answer = { rule: "login", key: "ip:203.0.113.10", refunded: 1 };
    const url = await start(200, answer);
    const { out } = await sluice(["refund", "--admin", url, ...key, "--cost", "30"]);
    expect(out).toContain("1 unit refunded of 30: no more was in use\n");
  });

  it("want a rule and a key, and a duration that is one", async () => {
    const url = await start(200, {});
    expect((await sluice(["reset", "--admin", url, "--rule", "login"])).code).toBe(2);
    expect((await sluice(["refund", "--admin", url, ...key, "--cost", "x"])).code).toBe(2);
    const { code, err } = await sluice(["block", "--admin", url, ...key, "--for", "soon"]);
    expect(code).toBe(2);
    expect(err).toContain('--for must be 500ms, 90s, 10m, 2h, 1d or forever, got "soon"');
    expect(service.asked).toEqual([]);
  });
});
