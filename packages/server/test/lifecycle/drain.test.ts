// A drain under load: requests under way end, no answer is cut off, and the process can exit.

import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { startService } from "../../src/service/service.js";
import { reloadsSeen, toGatewayConfig } from "./in-process.js";
import { startLoad } from "./load.js";
import { startUpstream } from "./upstream.js";

const NO_RULES = { version: 1, rules: [] };

describe("a drain under load", () => {
  it("fails readiness immediately, and fails no request", async () => {
    const upstream = await startUpstream(300);
    const { telemetry } = reloadsSeen();
    const service = await startService(toGatewayConfig(upstream.url, NO_RULES), { telemetry });
    const gateway = service.listeners.find(({ name }) => name === "gateway")?.url ?? "";
    const admin = service.listeners.find(({ name }) => name === "admin")?.url ?? "";
    const endsWith = (failure: string) => failure === "ECONNREFUSED";
    const load = startLoad(gateway, { clients: 20, endsWith });
    await load.until(60);
    expect((await fetch(`${admin}/readyz`)).status).toBe(200);
    const draining = service.drain();
    expect((await fetch(`${admin}/readyz`)).status).toBe(503);
    await draining;
    const { failures, statuses } = await load.stop();
    expect(failures.filter((failure) => failure !== "ECONNREFUSED")).toEqual([]);
    expect([...statuses.keys()]).toEqual([200]);
    await upstream.close();
  });
});

describe("close", () => {
  it.each(["drain", "close"])("after %s nothing keeps the process alive", (end) => {
    const program = `
      import { toConfig } from "./packages/server/dist/config/load.js";
      import { startService } from "./packages/server/dist/service/service.js";
      const listen = "127.0.0.1:0";
      const service = await startService(toConfig({
        gateway: { listen }, admin: { listen }, decision: { listen },
        upstreams: { app: { backends: ["http://127.0.0.1:9"] } },
        routes: [{ path: "/*", upstream: "app" }],
        store: { kind: "redis", url: "redis://127.0.0.1:9" },
        rules: { version: 1, rules: [{ id: "all", key: "global", limit: "5/minute" }] },
        telemetry: { logLevel: "silent" },
      }));
      await fetch(service.listeners[0].url).catch(() => {});
      await service.${end}();
      console.log(process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name)).length);
    `;
    // Exits by itself or not at all: the time limit kills it then, which is an error here.
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      timeout: 60_000,
      cwd: new URL("../../../..", import.meta.url),
    });
    expect(output).toMatch(/^\d+\n$/);
  });
});
