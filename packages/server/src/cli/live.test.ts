import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FakeTerminal, sluice } from "../../test/cli/fake-terminal.js";
import { runCommand } from "./program.js";

const anywhere = { SLUICE_GATEWAY_LISTEN: "127.0.0.1:0", SLUICE_ADMIN_LISTEN: "127.0.0.1:0" };
const folder = makeFolder("live");

/** A command that runs until it is ended, and where its listeners are. */
interface Running {
  readonly terminal: FakeTerminal;
  readonly code: Promise<number>;
  readonly gateway: string;
  readonly admin: string;
}

async function startDemo(...options: string[]): Promise<Running> {
  const terminal = new FakeTerminal({ env: anywhere });
  const code = runCommand(["demo", ...options], terminal);
  await terminal.until(({ out }) => out.includes("Ctrl-C"));
  const [gateway, admin] = [/gateway +(\S+)/, /metrics +(\S+)\/metrics/].map(
    (pattern) => pattern.exec(terminal.out)?.[1] ?? "",
  );
  return { terminal, code, gateway, admin };
}

describe("sluice demo with its own traffic", () => {
  it("shows the dashboard's address first, and has traffic under every rule within ten seconds", async () => {
    const demo = await startDemo();
    expect(demo.terminal.out).toMatch(/^Dashboard: http:\/\/127\.0\.0\.1:\d+\/dashboard\/\n/);
    const read = async (path: string) => (await fetch(demo.admin + path)).json();
    const busy = async () => {
      const { rules } = (await read("/v1/top")) as { rules: { rule: string }[] };
      return rules.map(({ rule }) => rule).sort();
    };
    const all = ["api", "api-planned", "everything", "exports", "login", "search"];
    await expect.poll(busy, { timeout: 10_000 }).toEqual(all);
    const statuses = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const answer = await fetch(`${demo.gateway}/login`, { method: "POST" });
        return answer.status;
      }),
    );
    expect(statuses.sort()).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await read("/v1/tenants")).toMatchObject({ items: [{ id: "acme" }, { id: "globex" }] });
    // Its decisions have no lines of their own.
    expect(demo.terminal.out).not.toContain("/products");
    demo.terminal.end();
    expect(await demo.code).toBe(0);
    expect(demo.terminal.err).toBe("");
  });
});

describe("sluice demo", () => {
  let demo: Running;
  beforeEach(async () => {
    demo = await startDemo("--no-traffic");
  });
  afterEach(async () => {
    demo.terminal.end();
    await demo.code;
  });
  const ask = (...args: string[]) => sluice([...args, "--admin", demo.admin]);
  const login = (times: number) =>
    Promise.all(
      Array.from({ length: times }, async () => {
        const response = await fetch(`${demo.gateway}/login`, { method: "POST" });
        await response.text();
        return response.status;
      }),
    );

  it("limits the sixth login, shows each decision, and has metrics", async () => {
    expect((await login(6)).sort()).toEqual([401, 401, 401, 401, 401, 429]);
    await demo.terminal.until(({ out }) => out.includes("refused  POST /login  login: 0 of 5"));
    expect(demo.terminal.out.match(/^allowed {2}POST \/login/gm)).toHaveLength(5);
    expect(demo.terminal.out).not.toContain("\x1b");
    const metrics = await (await fetch(`${demo.admin}/metrics`)).text();
    expect(metrics).toMatch(/^rate_limiter_blocked_total\{.*rule="login".*\} 1$/m);
    expect(await (await fetch(`${demo.gateway}/rate_limit`)).text()).toContain('"login"');
  });

  it("has a file of rules that can be edited and published while it runs, and shows what changed", async () => {
    const file = / {2}rules +(\S+)/.exec(demo.terminal.out)?.[1] ?? "";
    const rules = readFileSync(file, "utf8");
    writeFileSync(file, rules.replace("limit: 5,", "limit: 8,"));
    expect(await ask("rules", "push", file, "--publish")).toMatchObject({ code: 0 });
    await demo.terminal.until(({ out }) => out.includes("rules changed: login 8/minute"));
    expect((await login(9)).filter((status) => status === 401)).toHaveLength(8);
    writeFileSync(file, rules.replace("limit: 5,", "limit: five,"));
    const refused = await ask("rules", "push", file, "--publish");
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('got "five"') });
    demo.terminal.end();
    await demo.code;
    expect(existsSync(file)).toBe(false);
  });

  it("has a control plane that needs no token until there is one", async () => {
    expect(await ask("switch", "login", "deny", "--reason", "a test")).toMatchObject({ code: 0 });
    expect(await login(1)).toEqual([503]);
    expect(await ask("switch", "login", "on", "--reason", "a test")).toMatchObject({ code: 0 });
    expect(await login(1)).toEqual([401]);
    expect((await ask("audit", "list")).out).toContain("local");
    await ask("tokens", "create", "--name", "first", "--role", "admin");
    const { code, err } = await ask("plans", "list");
    expect([code, err]).toEqual([expect.any(Number), expect.stringContaining("needs a token")]);
    expect(code).not.toBe(0);
  });

  it("drains and exits with 0 when it is ended, and leaves nothing listening", async () => {
    demo.terminal.end();
    expect(await demo.code).toBe(0);
    expect(demo.terminal.out).toMatch(/Draining\.\nStopped\.\n$/);
    await expect(fetch(demo.gateway)).rejects.toThrow();
    expect(demo.terminal.listeners).toBe(0);
  });

  it("answers every verb of the command", async () => {
    const facts = ["--method", "POST", "--path", "/login", "--ip", "203.0.113.10"];
    const key = ["--rule", "login", "--key", "ip:203.0.113.10"];
    expect(await ask("check", ...facts, "--cost", "5")).toMatchObject({
      code: 0,
      out: expect.stringContaining("login: 0 of 5 left"),
    });
    expect((await ask("check", ...facts)).code).toBe(1);
    expect(await ask("explain", ...facts)).toMatchObject({
      code: 1,
      out: expect.stringContaining("counted by ip: ip:203.0.113.10"),
    });
    expect((await ask("explain", ...facts, "--all", "--json")).out).toContain('"isMatch":true');
    const bare = await ask("block", "--rule", "login", "--key", "203.0.113.10");
    expect(bare).toMatchObject({
      code: 2,
      err: expect.stringContaining('got "203.0.113.10"; did you mean "ip:203.0.113.10"?'),
    });
    expect((await ask("refund", ...key, "--cost", "1")).code).toBe(0);
    expect((await ask("check", ...facts)).code).toBe(0);
    expect((await ask("reset", ...key)).code).toBe(0);
    expect((await ask("peek", ...facts)).code).toBe(0);
    expect((await ask("block", ...key, "--for", "forever")).code).toBe(0);
    expect((await ask("peek", ...facts)).code).toBe(1);
    expect(await ask("unblock", ...key)).toMatchObject({
      code: 0,
      out: "login ip:203.0.113.10: unblocked\n",
    });
    expect((await ask("unblock", ...key)).out).toBe("login ip:203.0.113.10: was not blocked\n");
    expect((await ask("peek", ...facts)).code).toBe(0);
    const top = await ask("top", "--once");
    expect(top.code).toBe(0);
    expect(top.out).toMatch(/^login +ip /m);
    expect(top.out).toContain("hmac:");
    expect(top.out).not.toContain("203.0.113.10");
  });

  it("says what is missing or misspelt in a question", async () => {
    const method = await ask("explain", "--method", "PSOT", "--path", "/login");
    expect(method.code).toBe(2);
    expect(method.err).toContain('--method must be a method, got "PSOT"; did you mean POST?');
    expect((await ask("explain", "--method", "PURGE")).code).toBeLessThan(2);
    const noIp = await ask("explain", "--method", "POST", "--path", "/login");
    expect(noIp.out).toContain(
      "not counted: the rule refuses a request that has no value for its key (ip); pass --ip\n",
    );
    const facts = join(folder, "facts.json");
    writeFileSync(facts, JSON.stringify({ metod: "POST" }));
    const misspelt = await ask("check", "--facts", facts);
    expect(misspelt.code).toBe(2);
    expect(misspelt.err).toContain(
      `${facts}: unknown fact "metod"; did you mean method? known: method,`,
    );
  });

  it("says that a key is blocked, until when, and which key", async () => {
    const facts = ["--method", "POST", "--path", "/login", "--ip", "203.0.113.10"];
    const key = ["--rule", "login", "--key", "ip:203.0.113.10"];
    const until = String.raw`is blocked for (?:10 minutes|9 minutes 5\d seconds), until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`;
    await ask("block", ...key, "--for", "10m");
    for (const verb of ["check", "peek"]) {
      const { out } = await ask(verb, ...facts);
      expect(out).toMatch(new RegExp(`^refused {2}login: ip:203.0.113.10 ${until}\n$`));
    }
    const explained = await ask("explain", ...facts);
    expect(explained.out).toMatch(new RegExp(`^refused by login: ip:203.0.113.10 ${until}\n`));
    expect(explained.out).toMatch(/^ {2}blocked for (?:10 minutes|9 minutes 5\d seconds), until /m);
    expect(explained.out).not.toContain("over its limit");
    await ask("block", ...key, "--for", "forever");
    const forever = await ask("check", ...facts);
    expect(forever.out).toBe("refused  login: ip:203.0.113.10 is blocked until it is unblocked\n");
    expect((await ask("check", ...facts, "--json")).out).toContain('"reason":"blocked"');
  });

  it("lists the rules in force, switches them off and on, and reloads", async () => {
    const { out } = await ask("rules", "list");
    expect(out).toMatch(/^login +reject +POST \/login +ip +5\/minute \(slidingWindowLog\)$/m);
    expect(out).toMatch(
      /^everything +reject +\* +ip +burst of 20, then 5\/second \(tokenBucket\)$/m,
    );
    const off = await ask("rules", "disable", "login");
    expect(off.out).toMatch(/^login +off/m);
    expect(off.out).toMatch(/^everything +reject/m);
    expect(await login(7)).toEqual(Array.from({ length: 7 }, () => 401));
    expect((await ask("rules", "disable", "--all")).out).toMatch(/^everything +off/m);
    expect((await ask("rules", "enable", "--all")).out).toMatch(/^everything +reject/m);
    expect((await ask("rules", "enable", "login")).out).toMatch(/^login +reject/m);
    expect((await ask("rules", "disable")).code).toBe(2);
    expect((await ask("rules", "disable", "login", "--all")).code).toBe(2);
    expect((await ask("rules", "disable", "nonsense")).code).toBe(2);
    expect(await ask("reload")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^reloaded: rules of version \w+\n$/),
    });
  });

  it("reports in the service's words what is wrong with a request", async () => {
    const unknown = await ask("reset", "--rule", "nonsense", "--key", "ip:1");
    expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('"nonsense"') });
  });

  it("shows keys as they are once the operator confirms, and logs it", async () => {
    await login(1);
    const top = ["top", "--once", "--clear-keys"];
    const admin = ["--admin", demo.admin];
    const piped = await ask(...top);
    expect(piped).toMatchObject({ code: 2, err: expect.stringContaining("add --yes") });
    const refused = await sluice([...top, ...admin], { isTty: true, input: "n" });
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(demo.terminal.err).toBe("");
    const shown = await sluice([...top, ...admin], { isTty: true, input: "yes" });
    expect(shown.out).toContain("ip:127.0.0.1");
    expect((await ask(...top, "--yes")).out).toContain("ip:127.0.0.1");
    expect(demo.terminal.err.split("an operator sees keys in clear")).toHaveLength(2);
  });
});

describe("a port that is taken", () => {
  it.each([
    ["SLUICE_GATEWAY_LISTEN", "the gateway"],
    ["SLUICE_ADMIN_LISTEN", "admin and metrics"],
  ])(
    "is named with %s, which chooses another, and with what was set for others",
    async (variable, listener) => {
      const other = createServer().listen(0, "127.0.0.1");
      await once(other, "listening");
      const { port } = other.address() as AddressInfo;
      const env = { ...anywhere, [variable]: `127.0.0.1:${port}`, npm_lifecycle_event: "start" };
      const { code, err } = await sluice(["demo"], { env });
      other.close();
      const next = { ...anywhere, [variable]: `127.0.0.1:${port + 1}` };
      const settings = Object.entries(next).map((pair) => pair.join("="));
      expect(code).toBe(1);
      expect(err).toBe(
        `sluice: port ${port} for ${listener} is in use (127.0.0.1); ` +
          `to use another one: ${settings.join(" ")} npm start\n`,
      );
    },
  );

  it("is reported by serve with the command that was used", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const file = join(folder, "taken.yaml");
    const { out: demo } = await sluice(["demo", "--print-config"]);
    writeFileSync(file, demo.replace("127.0.0.1:8080", `127.0.0.1:${port}`));
    const env = { SLUICE_ADMIN_LISTEN: "127.0.0.1:0", SLUICE_TELEMETRY_LOG_LEVEL: "silent" };
    const { code, err } = await sluice(["serve", "--config", file], { env });
    other.close();
    expect(code).toBe(1);
    expect(err).toContain(`port ${port} for the gateway is in use`);
    expect(err).toContain(`sluice serve --config ${file}`);
  });
});

describe("sluice demo in an environment that says nonsense", () => {
  it("names the variable, and exits with 2", async () => {
    const env = { ...anywhere, SLUICE_GATEWAY_LISTEN: "here" };
    const { code, err } = await sluice(["demo"], { env });
    expect(code).toBe(2);
    expect(err).toContain("SLUICE_GATEWAY_LISTEN");
  });
});

describe("sluice serve", () => {
  it("serves what the demo prints as its configuration, until SIGTERM, and exits with 0", async () => {
    const file = join(folder, "sluice.yaml");
    const { out: demo } = await sluice(["demo", "--print-config"]);
    writeFileSync(file, demo);
    const env = { ...anywhere, SLUICE_TELEMETRY_LOG_LEVEL: "silent" };
    const terminal = new FakeTerminal({ env });
    const code = runCommand(["serve", "--config", file], terminal);
    await expect.poll(() => terminal.process.listenerCount("SIGTERM")).toBe(1);
    terminal.process.emit("SIGTERM", "SIGTERM");
    expect(await code).toBe(0);
    expect(terminal.err).toBe("");
  });
});
