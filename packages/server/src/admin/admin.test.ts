import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { memoryStore } from "sluice";
import { createPolicy, parseRules } from "sluice/rules";
import { ManualClock } from "sluice/testing";
import { rawExchange } from "sluice-test-servers";
import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "../config/config.js";
import type { Core, Listener } from "../core/core.js";
import { silentTelemetry } from "../telemetry/silent-telemetry.js";
import { type AdminControl, openAdmin } from "./admin.js";
import { ROUTE_NAMES, ROUTES } from "./routes.js";

const RULES = {
  version: 1,
  rules: [
    {
      id: "login",
      match: { path: "/login" },
      key: "ip",
      limit: { fixedWindow: { limit: 3, windowMs: 60_000, align: "first" } },
    },
    { id: "all", key: "ip", limit: { tokenBucket: { capacity: 100, refillPerSecond: 1 } } },
  ],
};
const FACTS = { method: "POST", path: "/login", ip: "203.0.113.77" };
const KEY = "ip:203.0.113.77";
const LOOPBACK = { host: "127.0.0.1", port: 0 };

const open: Listener[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((listener) => listener.close()));
});

interface Fixture {
  readonly core: Core;
  readonly url: string;
  readonly calls: string[];
  ask(path: string, init?: RequestInit): Promise<Response>;
  post(path: string, body?: unknown): Promise<{ status: number; body: Record<string, unknown> }>;
}

async function setUp(
  admin: Partial<Config["admin"]> = {},
  own: Partial<AdminControl> = {},
): Promise<Fixture> {
  const clock = new ManualClock(1_000_000);
  const store = memoryStore();
  const telemetry = silentTelemetry();
  const policy = createPolicy({ rules: RULES, store, clock });
  const blindPolicy = createPolicy({ rules: RULES, store, clock, seesResponses: false });
  const config = {
    admin: { listen: LOOPBACK, token: undefined, ...admin },
    identity: {},
  } as Config;
  const core: Core = { config, clock, store, policy, blindPolicy, telemetry };
  // As the code that makes a core does.
  for (const source of [store, policy, blindPolicy]) telemetry.watch(source);
  const calls: string[] = [];
  const control: AdminControl = {
    isReady: () => ({ ready: true, reasons: [] }),
    reload: async () => void calls.push("reload"),
    metrics: () => telemetry.metrics(),
    ...own,
  };
  const listener = await openAdmin(core, control);
  open.push(listener);
  const authorization: Record<string, string> =
    admin.token === undefined ? {} : { authorization: `Bearer ${admin.token}` };
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(listener.url + path, { ...init, headers: { ...authorization, ...init.headers } });
  return {
    core,
    url: listener.url,
    calls,
    ask,
    post: async (path, body = {}) => {
      const headers = { "content-type": "application/json" };
      const response = await ask(path, { method: "POST", headers, body: JSON.stringify(body) });
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
  };
}

/** A request as it is written, for fields that fetch would not send. */
function askRaw(url: string, head: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(head));
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (piece) => {
      text += piece;
    });
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
  });
}

const rawGet = (url: string, path: string, ...fields: string[]) =>
  askRaw(url, [`GET ${path} HTTP/1.1`, "Connection: close", ...fields, "", ""].join("\r\n"));

describe("health", () => {
  it("/livez answers every client, by whatever name, and touches nothing", async () => {
    const { url } = await setUp({ token: "secret-token" });
    expect(await rawGet(url, "/livez", "Host: 10.1.2.3")).toContain("200 OK");
  });

  it("/readyz says 503 and why not, and the why only to operators", async () => {
    const why = { ready: false, reasons: ["draining"] };
    const local = await setUp({}, { isReady: () => why });
    const response = await local.ask("/readyz");
    expect([response.status, await response.json()]).toEqual([503, why]);
    const guarded = await setUp({ token: "secret-token" }, { isReady: () => why });
    const text = await rawGet(guarded.url, "/readyz", "Host: a");
    expect(text).toContain("503");
    expect(text).not.toContain("draining");
  });
});

describe("the listener of the admin port", () => {
  it("does not open to other machines without a token", async () => {
    await expect(setUp({ listen: { host: "0.0.0.0", port: 0 } })).rejects.toMatchObject({
      code: "SLUICE_CONFIG_INVALID",
      message: expect.stringContaining("0.0.0.0"),
    });
    await expect(setUp({ token: " " })).rejects.toMatchObject({ code: "SLUICE_CONFIG_INVALID" });
  });

  it("says where it listens, and what is wrong if it can't", async () => {
    const { url } = await setUp();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const port = Number(new URL(url).port);
    await expect(setUp({ listen: { host: "127.0.0.1", port } })).rejects.toMatchObject({
      code: "SLUICE_LISTEN_FAILED",
    });
  });

  it("with a token answers only those that bring it", async () => {
    const { url, ask } = await setUp({ token: "secret-token" });
    for (const path of ["/metrics", "/v1/rules", "/v1/top", "/nowhere"]) {
      const response = await fetch(url + path);
      expect([path, response.status]).toEqual([path, 401]);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
    }
    for (const wrong of ["Bearer secret-toke", "Bearer secret-token2", "Basic secret-token", ""]) {
      const response = await fetch(`${url}/metrics`, { headers: { authorization: wrong } });
      expect([wrong, response.status]).toEqual([wrong, 401]);
    }
    expect((await ask("/metrics")).status).toBe(200);
  });

  it("without a token answers only names of this machine, so that no page can be led here", async () => {
    const { url } = await setUp();
    for (const host of ["localhost:9090", "127.0.0.1", "[::1]:9090", "LOCALHOST"]) {
      expect(await rawGet(url, "/v1/version", `Host: ${host}`)).toContain("200 OK");
    }
    for (const host of ["example.com", "127.0.0.1.example.com", "localhost.example.com:9090"]) {
      const text = await rawGet(url, "/v1/version", `Host: ${host}`);
      expect(text).toContain("403 Forbidden");
      expect(text).toContain(host);
    }
  });

  it("refuses what a page of another site makes a browser load, such as an image", async () => {
    const { ask } = await setUp();
    const get = async (site: string) =>
      (await ask("/v1/rules", { headers: { "sec-fetch-site": site } })).status;
    expect(await get("cross-site")).toBe(403);
    expect(await get("same-site")).toBe(403);
    expect(await get("same-origin")).toBe(200);
    expect(await get("none")).toBe(200);
  });

  it("refuses what a page of another origin sends, and takes its own", async () => {
    const { url, ask } = await setUp();
    for (const origin of ["http://example.com", "null", "http://localhost:1"]) {
      expect((await ask("/v1/rules", { headers: { origin } })).status).toBe(403);
    }
    const { host } = new URL(url);
    const own = await rawGet(url, "/v1/rules", `Host: ${host}`, `Origin: http://${host}`);
    expect(own).toContain("200 OK");
  });

  it("refuses both at every route, besides its description and the login, which shows nothing", async () => {
    const { url } = await setUp();
    const own = `Host: ${new URL(url).host}`;
    const answered = async (...fields: string[]) => {
      const names: string[] = [];
      for (const { method, path } of ROUTES) {
        const target = path.replaceAll(/\{\w+\}/g, "1");
        const body =
          method === "GET" ? [] : ["Content-Type: application/json", "Content-Length: 2"];
        const lines = [`${method} ${target} HTTP/1.1`, ...fields, ...body, "Connection: close"];
        const text = `${lines.join("\r\n")}\r\n\r\n${method === "GET" ? "" : "{}"}`;
        const status = (await rawExchange(url, text)).slice(9, 12);
        if (status !== "403") names.push(`${method} ${path} ${status}`);
      }
      return names;
    };
    expect(await answered(own, "Origin: http://example.com")).toEqual([]);
    const open = ["POST /v1/session 400", "GET /v1/openapi.json 200"];
    expect(await answered("Host: rebound.example.com")).toEqual(open);
    expect(await answered(own, "Sec-Fetch-Site: cross-site")).toEqual(open);
  });

  it("takes only JSON, as no form of a page can send it", async () => {
    const { ask, core } = await setUp();
    for (const type of ["text/plain", "application/x-www-form-urlencoded"]) {
      const headers = { "content-type": type };
      const response = await ask("/v1/rules/disable", { method: "POST", headers, body: "{}" });
      expect(response.status).toBe(415);
      expect(await response.text()).toContain(type);
    }
    expect(core.policy.switches.all).toBe("on");
  });

  it("bounds a body, and says so before the connection ends", async () => {
    const { ask } = await setUp();
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ facts: { path: "x".repeat(100_000) } });
    const response = await ask("/v1/check", { method: "POST", headers, body });
    expect([response.status, await response.json()]).toEqual([
      413,
      expect.objectContaining({ code: "SLUICE_BODY_TOO_LARGE" }),
    ]);
  });

  it("reports errors as the decision API does: type, title of the status, status, code and detail", async () => {
    const { ask, post } = await setUp();
    const { headers, ...missing } = await ask("/v1/nothing").then(async (response) => ({
      headers: response.headers,
      body: (await response.json()) as object,
    }));
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(missing.body).toEqual({
      type: "about:blank",
      title: "Not Found",
      status: 404,
      code: "SLUICE_NOT_FOUND",
      detail: expect.stringContaining("/v1/nothing"),
    });
    expect((await post("/v1/check", { facts: 7 })).body.title).toBe("Bad Request");
    const body = Buffer.from('{"facts":{"user":"\xff"}}', "latin1");
    const json = { "content-type": "application/json" };
    const broken = await ask("/v1/check", { method: "POST", headers: json, body });
    expect([broken.status, await broken.text()]).toEqual([400, expect.stringContaining("UTF-8")]);
  });

  it.each([
    ["GET", "/v1/check", "POST"],
    ["POST", "/metrics", "GET, HEAD"],
    ["DELETE", "/v1/rules/login/disable", "POST"],
    ["POST", "/livez", "GET, HEAD"],
    ["PUT", "/readyz", "GET, HEAD"],
  ])("says of %s %s which methods it answers", async (method, path, allowed) => {
    const { ask } = await setUp();
    const response = await ask(path, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allowed]);
  });

  it("says what was seen where nothing answers", async () => {
    const { ask, post } = await setUp();
    const missing = await ask("/v1/nothing");
    expect([missing.status, await missing.json()]).toEqual([
      404,
      expect.objectContaining({ detail: expect.stringContaining("/v1/nothing") }),
    ]);
    const wrong = await ask("/v1/check");
    expect([wrong.status, await wrong.json()]).toEqual([
      405,
      expect.objectContaining({ detail: expect.stringContaining("POST") }),
    ]);
    const body = { facts: { path: 7, colour: "red" } };
    const { status, body: said } = await post("/v1/check", body);
    expect(status).toBe(400);
    expect(said.detail).toContain("facts.path");
    expect(said.detail).toContain("7");
    expect(said.detail).toContain("colour");
  });

  it("drains: takes no connection any more and lets the request under way end", async () => {
    let end = () => {};
    const reloading = new Promise<void>((resolve) => {
      end = resolve;
    });
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const { post, url } = await setUp(
      {},
      {
        reload: () => {
          begin();
          return reloading;
        },
      },
    );
    const asked = post("/v1/reload");
    await begun;
    const drained = open[0].drain();
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
    end();
    expect((await asked).status).toBe(200);
    await drained;
  });
});

describe("the guides", () => {
  it("list every path of the port, and no other", () => {
    const listed = ["operations", "control-plane"].flatMap((name) => {
      const url = new URL(`../../../../docs/guides/${name}.md`, import.meta.url);
      return toListed(readFileSync(url, "utf8"));
    });
    expect(listed.sort()).toEqual(["GET /livez", "GET /readyz", ...ROUTE_NAMES].sort());
  });
});

function toListed(guide: string): string[] {
  const rows = [...guide.matchAll(/^\| `(GET|POST|PUT|DELETE) .*$/gm)];
  return rows.flatMap(([row, method]) => {
    const cell = row.split(" | ")[0];
    const [first, ...others] = [...cell.matchAll(/`(?:[A-Z]+ )?([^`]+)`/g)].map(([, path]) => path);
    // The others of a row differ in their last part.
    return [first, ...others.map((last) => first.replace(/\/[^/]*$/, last))].map(
      (path) => `${method} ${path}`,
    );
  });
}

describe("what operators see", () => {
  it("is what each rule is switched to, where deny wins over off", async () => {
    const { ask, core } = await setUp();
    const seen = async () => {
      const { switchedTo, rules } = (await (await ask("/v1/rules")).json()) as RulesView;
      return [switchedTo, ...rules.map((rule) => `${rule.switchedTo} ${rule.isOn}`)];
    };
    core.policy.switch("login", "deny");
    expect(await seen()).toEqual(["on", "deny false", "on true"]);
    core.policy.switch(undefined, "off");
    expect(await seen()).toEqual(["off", "deny false", "off false"]);
    core.policy.switch(undefined, "deny");
    core.policy.switch("login", "off");
    expect(await seen()).toEqual(["deny", "deny false", "deny false"]);
  });

  it("is the rule set in force, its version, and which rules are off", async () => {
    const { ask, post, core } = await setUp();
    await post("/v1/rules/login/disable");
    const view = (await (await ask("/v1/rules")).json()) as Record<string, unknown>;
    expect(view).toMatchObject({
      version: core.policy.version,
      switchedTo: "on",
      switches: [{ rule: "login", state: "off" }],
      rules: [
        { id: "login", isOn: false, keyType: "ip", limits: [{ fixedWindow: { limit: 3 } }] },
        { id: "all", isOn: true, limits: [{ tokenBucket: { capacity: 100 } }] },
      ],
    });
  });

  it("is the version of the package and of the rules", async () => {
    const { ask, core } = await setUp();
    expect(await (await ask("/v1/version")).json()).toMatchObject({
      name: "sluice",
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      rules: core.policy.version,
    });
  });

  it("is figures of the store and of the policies", async () => {
    const { ask, post } = await setUp();
    await post("/v1/check", { facts: FACTS });
    expect(await (await ask("/v1/stats")).json()).toMatchObject({
      store: { keys: 2, evictions: 0 },
      memory: { rss: expect.any(Number) },
    });
    const metrics = await (await ask("/metrics")).text();
    expect(metrics).toContain('rate_limiter_store_keys{region="local"} 2');
    expect(metrics).toMatch(/rate_limiter_rule_set_info\{version="[^"]+",region="local"\} 1/);
  });

  it("is metrics in the format of Prometheus, by its type", async () => {
    const { ask } = await setUp();
    const response = await ask("/metrics");
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  it("is the busiest rules and keys, hashed unless an operator with a token asks", async () => {
    const local = await setUp();
    for (let i = 0; i < 5; i++) await local.post("/v1/check", { facts: FACTS });
    const report = await (await local.ask("/v1/top?rule=login")).text();
    expect(JSON.parse(report)).toMatchObject({
      version: local.core.policy.version,
      rules: [{ rule: "login", allowed: 3, blocked: 2 }],
      hottest: [{ rule: "login", key: expect.stringMatching(/^hmac:[0-9a-f]{16}$/) }],
      mostRefused: [{ rule: "login" }],
    });
    expect(report).not.toContain("203.0.113.77");
    expect((await local.ask("/v1/top?keys=clear")).status).toBe(403);
    const confirmed = { "sluice-confirm": "clear-keys" };
    const askClear = async (headers: Record<string, string>) =>
      (await local.ask("/v1/top?keys=clear", { headers })).status;
    expect(await askClear(confirmed)).toBe(200);
    expect(await askClear({ ...confirmed, "sec-fetch-site": "cross-site" })).toBe(403);
    expect((await local.ask("/v1/top?keys=some")).status).toBe(400);
    const guarded = await setUp({ token: "secret-token" });
    await guarded.post("/v1/check", { facts: FACTS });
    const clear = (await (await guarded.ask("/v1/top?keys=clear")).json()) as {
      hottest: { key: string }[];
    };
    expect(clear.hottest.map(({ key }) => key)).toEqual([KEY, KEY]);
  });
});

describe("samples", () => {
  it("are the latest decisions, hashed unless an operator with a token asks", async () => {
    const guarded = await setUp({ token: "secret-token" });
    for (let i = 0; i < 4; i++) await guarded.post("/v1/check", { facts: FACTS });
    const hashed = await (await guarded.ask("/v1/samples?outcome=blocked")).text();
    expect(JSON.parse(hashed)).toMatchObject({
      items: [
        { rule: "login", reason: "limit", key: expect.stringMatching(/^hmac:/), facts: null },
      ],
    });
    expect(hashed).not.toContain("203.0.113.77");
    const path = `/v1/samples?keys=clear&limit=2&key=${encodeURIComponent(KEY)}`;
    expect(await (await guarded.ask(path)).json()).toMatchObject({
      items: [
        { outcome: "blocked", key: KEY, facts: FACTS },
        { outcome: "allowed", key: KEY },
      ],
    });
    const local = await setUp();
    expect((await local.ask("/v1/samples?keys=clear")).status).toBe(403);
    expect((await local.ask("/v1/samples?limit=0")).status).toBe(400);
  });
});

describe("what operators do", () => {
  it("check charges, peek and explain don't", async () => {
    const { post } = await setUp();
    const charged = await post("/v1/check", { facts: FACTS, cost: 2 });
    expect(charged.body).toMatchObject({ allowed: true, rule: "login", remaining: 1 });
    const looked = await post("/v1/peek", { facts: FACTS });
    expect(looked.body).toMatchObject({ allowed: true, rule: "login", remaining: 1 });
    const explained = await post("/v1/explain", { facts: FACTS, all: true });
    expect(explained.body).toMatchObject({
      allowed: true,
      rules: [{ rule: "login", key: KEY }, {}],
    });
    const refused = await post("/v1/check", { facts: FACTS, cost: 2 });
    expect(refused.body).toMatchObject({ allowed: false, reason: "limit", rule: "login" });
    const never = await post("/v1/check", { facts: FACTS, cost: 1_000 });
    expect(never.body).toMatchObject({ allowed: false, retryAfterMs: null });
  });

  it("reset, refund, block and unblock act on the key of a rule, at every listener", async () => {
    const { post, core } = await setUp();
    const target = { rule: "login", key: KEY };
    const isAllowed = async () => (await core.policy.peek(FACTS)).allowed;
    await post("/v1/check", { facts: FACTS, cost: 3 });
    expect(await isAllowed()).toBe(false);
    expect((await post("/v1/refund", { ...target, cost: 1 })).body).toMatchObject({ refunded: 1 });
    expect(await isAllowed()).toBe(true);
    expect((await post("/v1/refund", { ...target, cost: 9 })).body).toMatchObject({ refunded: 2 });
    expect((await post("/v1/refund", { ...target, cost: 9 })).body).toMatchObject({ refunded: 0 });
    await post("/v1/check", { facts: FACTS });
    expect((await post("/v1/reset", target)).status).toBe(200);
    expect(await isAllowed()).toBe(true);
    expect((await post("/v1/block", { ...target, forMs: null })).body).toMatchObject({
      blocked: true,
    });
    expect(await isAllowed()).toBe(false);
    expect((await post("/v1/unblock", target)).status).toBe(200);
    expect(await isAllowed()).toBe(true);
  });

  it("finds the key of a request by its facts", async () => {
    const { post, core } = await setUp();
    const blocked = await post("/v1/block", { rule: "login", facts: FACTS, forMs: 60_000 });
    expect(blocked.body).toMatchObject({ rule: "login", key: KEY, blocked: true });
    expect((await core.policy.peek(FACTS)).allowed).toBe(false);
    const elsewhere = { rule: "login", facts: { ...FACTS, path: "/other" } };
    const missed = await post("/v1/unblock", elsewhere);
    expect([missed.status, missed.body.detail]).toEqual([400, expect.stringContaining("login")]);
    expect((await post("/v1/unblock", { rule: "login", facts: FACTS })).status).toBe(200);
    expect((await core.policy.peek(FACTS)).allowed).toBe(true);
    for (const body of [{ rule: "login" }, { rule: "login", key: KEY, facts: FACTS }]) {
      const { status, body: said } = await post("/v1/reset", body);
      expect([status, said.detail]).toEqual([400, expect.stringContaining("either key or facts")]);
    }
  });

  it("says which rule or key is unknown", async () => {
    const { post } = await setUp();
    const noRule = await post("/v1/reset", { rule: "lo\ngin", key: KEY });
    expect([noRule.status, noRule.body.code]).toEqual([404, "SLUICE_RULE_UNKNOWN"]);
    const noKey = await post("/v1/reset", { rule: "login", key: "user:42" });
    expect([noKey.status, noKey.body.code]).toEqual([400, "SLUICE_RULE_KEY_INVALID"]);
    const forNothing = await post("/v1/block", { rule: "login", key: KEY, forMs: 0 });
    expect(forNothing.status).toBe(400);
    expect(forNothing.body.detail).toContain("forMs");
    expect((await post("/v1/rules/nothing/disable")).status).toBe(404);
    expect((await post("/v1/rules/%ZZ/disable")).status).toBe(400);
  });

  it("switches a rule or all of them off and on immediately, in both policies", async () => {
    const { post, core } = await setUp();
    await post("/v1/check", { facts: FACTS, cost: 3 });
    const outcomes = async () =>
      Promise.all(
        [core.policy, core.blindPolicy].map(async (p) => (await p?.peek(FACTS))?.allowed),
      );
    expect(await outcomes()).toEqual([false, false]);
    expect((await post("/v1/rules/login/disable")).body.switches).toEqual([
      { rule: "login", state: "off" },
    ]);
    expect(await outcomes()).toEqual([true, true]);
    await post("/v1/rules/login/enable");
    expect(await outcomes()).toEqual([false, false]);
    expect((await post("/v1/rules/disable")).body.switchedTo).toBe("off");
    expect(await outcomes()).toEqual([true, true]);
    await post("/v1/rules/enable");
    expect(await outcomes()).toEqual([false, false]);
  });

  it("lets a service of several processes switch rules in all of them", async () => {
    const switched: unknown[] = [];
    const { post } = await setUp(
      {},
      { switchRule: (rule, isOn) => void switched.push([rule, isOn]) },
    );
    await post("/v1/rules/login/disable");
    await post("/v1/rules/enable");
    expect(switched).toEqual([
      ["login", false],
      [undefined, true],
    ]);
  });

  it("reloads, and says what is wrong if that fails; what is not an error of ours stays in the log", async () => {
    const fine = await setUp();
    expect((await fine.post("/v1/reload")).body).toMatchObject({ reloaded: true });
    expect(fine.calls).toEqual(["reload"]);
    const broken = await setUp(
      {},
      { reload: () => Promise.reject(new Error("a secret of the heap")) },
    );
    const { status, body } = await broken.post("/v1/reload");
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain("secret");
    const bad = await setUp({}, { reload: async () => void parseRules("rules: 7") });
    const refused = await bad.post("/v1/reload");
    expect([refused.status, refused.body.code]).toEqual([422, "SLUICE_RULES_INVALID"]);
    expect(refused.body.detail).toContain("rules");
  });
});

interface RulesView {
  readonly switchedTo: string;
  readonly rules: readonly { readonly switchedTo: string; readonly isOn: boolean }[];
}
