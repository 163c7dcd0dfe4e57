// Services in a home region and in its standby, over a Redis server each and one PostgreSQL: promotion by the command, and
// automatically when the home region's Redis is gone.

import { join } from "node:path";
import { makeFolder, type RedisProcess, startRedis } from "sluice-test-servers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sluice } from "../../test/cli/fake-terminal.js";
import { testDatabases } from "../../test/control/databases.js";
import { parseConfig } from "../config/load.js";
import { type Service, startService } from "./service.js";

const TOKEN = "a-token-of-thirty-two-characters";
const databases = testDatabases().find(({ name }) => name === "PostgreSQL");
const servers: Record<"eu" | "us", RedisProcess | undefined> = { eu: undefined, us: undefined };
const services: Service[] = [];

beforeAll(async () => {
  servers.us = await startRedis();
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.close();
  await servers.eu?.stop();
});
afterAll(async () => {
  await servers.us?.stop();
  await databases?.stop();
});

interface Started {
  readonly service: Service;
  /** What an operator sees of its readiness. */
  readiness(): Promise<{ ready: boolean; reasons: readonly string[] }>;
  command(line: string): Promise<{ code: number; out: string; err: string }>;
}

async function startIn(self: "eu" | "us", takeover: "manual" | "automatic", database?: string) {
  const control =
    database === undefined
      ? ""
      : `control: { database: "${database}", node: ${self}, snapshot: "${join(makeFolder("standby"), "snapshot")}" }`;
  const config = parseConfig(
    `
decision: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0", token: ${TOKEN} }
store: { kind: redis, timeoutMs: 2s }
${control}
regions:
  self: ${self}
  home: eu
  standby: us
  takeover: ${takeover}
  permissionMs: 4s
  leaseMs: 1s
  stores:
    eu: { url: "redis://127.0.0.1:${servers.eu?.port}" }
    us: { url: "redis://127.0.0.1:${servers.us?.port}" }
telemetry: { logLevel: silent }
rules:
  version: 1
  rules:
    - { id: far, key: ip, limit: 4/day, across: central, timeoutMs: 2s }
`,
    { env: {} },
  );
  const service = await startService(config);
  services.push(service);
  const url = service.listeners.find(({ name }) => name === "admin")?.url ?? "";
  const env = { SLUICE_ADMIN: url, SLUICE_ADMIN_TOKEN: TOKEN };
  const headers = { authorization: `Bearer ${TOKEN}` };
  const started: Started = {
    service,
    readiness: async () => {
      const response = await fetch(`${url}/readyz`, { headers });
      return (await response.json()) as Awaited<ReturnType<Started["readiness"]>>;
    },
    command: (line) => sluice(line.split(" "), { env }),
  };
  return started;
}

async function startBoth(takeover: "manual" | "automatic", database?: string) {
  servers.eu = await startRedis();
  await servers.us?.command("FLUSHALL");
  const eu = await startIn("eu", takeover, database);
  const us = await startIn("us", takeover, database);
  for (const { command } of [eu, us]) {
    await expect
      .poll(async () => (await command("regions show")).out, { timeout: 30_000 })
      .toMatch(/^home {5}eu \(epoch 1\), for /);
  }
  return { eu, us };
}

const facts = { method: "GET", path: "/", ip: "203.0.113.10" };
async function admitted({ service }: Started, count: number): Promise<number> {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const { allowed } = await service.core.policy.admit(facts);
    if (allowed) sum++;
  }
  return sum;
}

const opened = ({ command }: Started, region: string, epoch: number) =>
  expect
    .poll(async () => (await command("regions show")).out, { timeout: 60_000 })
    .toMatch(new RegExp(`^home {5}${region} \\(epoch ${epoch}\\), for `));

describe("services in a home region and in its standby", () => {
  it("are promoted by the command, which says what it did; metrics show it", async () => {
    const { eu, us } = await startBoth("manual");
    expect(await admitted(eu, 3)).toBe(3);
    expect(await admitted(us, 3)).toBe(1);
    const done = await us.command("regions promote us --reason drill");
    expect(done).toMatchObject({ code: 0, err: "" });
    expect(done.out).toBe("us is home under epoch 2: opens in 2 seconds; the old home is fenced\n");
    for (const each of [eu, us]) await opened(each, "us", 2);
    expect((await eu.command("regions show")).out).toContain(
      "\nstandby  the configured home region, since us was promoted; this node is in eu\n",
    );
    // One limit more, and no more than that.
    expect((await admitted(eu, 4)) + (await admitted(us, 4))).toBe(4);
    const text = await eu.service.core.telemetry.metrics();
    expect(text).toContain('rate_limiter_home_epoch{region="eu"} 2');
    expect(text).toContain('rate_limiter_home_open{home="us",region="eu"} 1');
    expect(text).toMatch(/rate_limiter_home_age_seconds\{region="eu"\} [\d.]+/);
    expect(text).toMatch(/rate_limiter_home_fenced_total\{region="eu"\} \d/);
  });

  it("refuse a promotion that is not safe, or not possible, with the reason; readiness shows it", async () => {
    const { eu, us } = await startBoth("manual");
    const home = await eu.command("regions promote eu");
    expect(home.code).toBe(1);
    expect(home.err).toContain("eu is home already, under epoch 1");
    await servers.eu?.stop();
    const unsafe = await us.command("regions promote us");
    expect(unsafe.err).toContain("the store of eu can't be reached, so it can't be fenced");
    const stopped = await us.command("regions promote us --old-home-stopped");
    expect(stopped.out).toBe(
      "us is home under epoch 2: opens in 6 seconds; the old home could not be fenced\n",
    );
    const { ready, reasons } = await us.readiness();
    expect(ready).toBe(true);
    expect(reasons.join()).toMatch(/home region us \(epoch 2\): opens in \d s/);
    await opened(us, "us", 2);
  });

  it("are promoted automatically where PostgreSQL arbitrates, and record commands in the audit log", async () => {
    const database = (await databases?.create()) ?? "";
    const { eu, us } = await startBoth("automatic", database);
    expect(await admitted(us, 2)).toBe(2);
    const taken = await eu.command("regions promote us --reason drill");
    expect(taken.code).toBe(0);
    await opened(us, "us", 2);
    const back = await us.command("regions promote eu");
    expect(back.code).toBe(0);
    await opened(us, "eu", 3);
    const entries = await us.service.control?.plane?.searchAudit({ kind: "region" });
    expect(entries?.map(({ action, entityId, reason }) => [action, entityId, reason])).toEqual([
      ["promote", "eu", ""],
      ["promote", "us", "drill"],
    ]);
    await servers.eu?.stop();
    await opened(us, "us", 4);
    expect(await admitted(us, 8)).toBe(4);
  });
});

describe("without a standby", () => {
  it("the command says that there is none", async () => {
    const config = parseConfig(
      `decision: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0", token: ${TOKEN} }
telemetry: { logLevel: silent }
rules: { version: 1, rules: [{ id: a, limit: 4/day }] }`,
      { env: {} },
    );
    const service = await startService(config);
    services.push(service);
    const url = service.listeners.find(({ name }) => name === "admin")?.url ?? "";
    const env = { SLUICE_ADMIN: url, SLUICE_ADMIN_TOKEN: TOKEN };
    const { code, err } = await sluice(["regions", "show"], { env });
    expect(code).toBe(2);
    expect(err).toContain(
      "this service has no home region with a standby: regions.standby is not set",
    );
  });
});
