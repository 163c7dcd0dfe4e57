// Reloads under load: none of them fails a request, refills a limit or loads half a file.

import { afterEach, describe, expect, it } from "vitest";
import { type Service, startService } from "../../src/service/service.js";
import { RulesFile, reloadsSeen, toGatewayConfig } from "./in-process.js";
import { countOf, startLoad } from "./load.js";
import { startUpstream, type Upstream } from "./upstream.js";

const closing: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each.close();
});

async function setUpOn(file: RulesFile) {
  const upstream: Upstream = await startUpstream();
  closing.push(upstream);
  const { telemetry, reloads } = reloadsSeen();
  const config = toGatewayConfig(upstream.url, { file: file.path });
  const service: Service = await startService(config, { telemetry });
  closing.push(service);
  const gateway = service.listeners.find(({ name }) => name === "gateway")?.url ?? "";
  return { service, gateway, reloads };
}

describe("a thousand reloads under load", () => {
  it("fail no request and refill no limit", async () => {
    const file = new RulesFile(500);
    const { service, gateway, reloads } = await setUpOn(file);
    const load = startLoad(gateway, { clients: 4 });
    for (let i = 1; i <= 1_000; i++) {
      file.say(500 + (i % 2));
      await service.reload();
      // Now and then, so that requests and reloads take turns.
      if (i % 10 === 0) await load.until(i / 2);
    }
    await load.until(1_500);
    const tally = await load.stop();
    expect(reloads).toHaveLength(1_000);
    expect(tally.failures).toEqual([]);
    expect([...tally.statuses.keys()].sort()).toEqual([200, 429]);
    expect(countOf(tally, 200)).toBeGreaterThanOrEqual(500);
    expect(countOf(tally, 200)).toBeLessThanOrEqual(501);
  });
});

describe("a bad file under load", () => {
  it("changes nothing, is reported with its line, and the next good one is taken", async () => {
    const file = new RulesFile(1_000_000);
    const { service, gateway, reloads } = await setUpOn(file);
    const load = startLoad(gateway, { clients: 4 });
    await load.until(100);
    const { version } = service.core.policy;
    file.write("version: 1\nrules:\n  - id: everybody\n    limit: ten\n");
    await expect(service.reload()).rejects.toThrow("rules.yaml:4");
    expect(service.core.policy.version).toBe(version);
    await load.until(300);
    file.say(1);
    await service.reload();
    const before = countOf(load.tally, 200);
    await load.until(before + 200);
    const tally = await load.stop();
    expect(countOf(tally, 200)).toBeLessThanOrEqual(before + 4);
    expect(tally.failures).toEqual([]);
    expect(reloads.map(([what, error]) => [what, error?.includes("rules.yaml:4")])).toEqual([
      ["rules", true],
      ["rules", undefined],
    ]);
  });
});
