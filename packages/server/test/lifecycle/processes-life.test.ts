// Several processes as one service: they start, reload and end as one.

import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { ask, countOf, startLoad } from "./load.js";
import { rulesOf, useServe } from "./serve-fixture.js";
import { ServeProcess } from "./serve-process.js";
import { startUpstream } from "./upstream.js";

const { serve, toFile } = useServe();

describe("a reload", () => {
  it("by SIGHUP reaches every worker, without a failed request", async () => {
    const served = serve(2, rulesOf(1_000_000));
    const gateway = await served.url("gateway");
    const load = startLoad(gateway, { clients: 6 });
    await load.until(200);
    writeFileSync(served.file, JSON.stringify(toFile(2, rulesOf(1))));
    served.signal("SIGHUP");
    await served.line(({ msg, what }) => msg === "reloaded" && what === "config");
    const before = countOf(load.tally, 200);
    await load.until(before + 600);
    const tally = await load.stop();
    // Each worker refuses from its next request on: what was used before is kept.
    expect(countOf(tally, 200)).toBeLessThan(before + 100);
    expect(tally.failures).toEqual([]);
  });
});

describe("a drain under load", () => {
  it("fails no request: those under way end, later ones are refused a connection", async () => {
    const slow = await startUpstream(30);
    const served = serve(2, rulesOf(1_000_000), { upstreams: { app: { backends: [slow.url] } } });
    const gateway = await served.url("gateway");
    const endsWith = (failure: string) => failure === "ECONNREFUSED";
    const load = startLoad(gateway, { clients: 12, endsWith });
    await load.until(200);
    served.signal("SIGTERM");
    expect(await served.exited).toBe(0);
    const { failures, statuses } = await load.stop();
    expect(failures.filter((failure) => failure !== "ECONNREFUSED")).toEqual([]);
    expect([...statuses.keys()]).toEqual([200]);
    await slow.close();
  });
});

describe("a start that fails in a worker", () => {
  it("fails as a whole and leaves nothing behind", async () => {
    const first = serve(1, rulesOf(10));
    const taken = new URL(await first.url("gateway")).host;
    const second = serve(2, rulesOf(10), { gateway: { listen: taken } });
    expect(await second.exited).toBe(1);
    expect(second.text.join("\n")).toContain("EADDRINUSE");
    expect(await ask(await first.url("gateway"))).toBe(200);
  });
});

describe("a program that brings its configuration along", () => {
  it("is started once more for each worker", async () => {
    const index = new URL("../../dist/index.js", import.meta.url);
    const file = join(makeFolder("server"), "program.mjs");
    const config = JSON.stringify(toFile(2, rulesOf(3)));
    writeFileSync(
      file,
      `import { runService, toConfig } from ${JSON.stringify(index.href)};
       const onStarted = ({ listeners, core }) => {
         for (const { name, url } of listeners) core.telemetry.log.info({ listener: name, url }, "listening");
       };
       process.exitCode = await runService(toConfig(${config}), { onStarted });`,
    );
    const served = new ServeProcess(spawn(process.execPath, [file]));
    const gateway = await served.url("gateway");
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push(await ask(gateway));
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect(served.workerPids).toHaveLength(2);
    served.signal("SIGTERM");
    expect(await served.exited).toBe(0);
  });
});
