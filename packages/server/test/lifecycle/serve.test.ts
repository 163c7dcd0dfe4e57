// `sluice serve` and signals, as a process of its own.

import { writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { RulesFile } from "./in-process.js";
import { ask } from "./load.js";
import { rulesOf, useServe } from "./serve-fixture.js";

const { serve, toFile } = useServe();

describe("sluice serve", () => {
  it("reloads on SIGHUP, lives on with a bad file, and ends with 0 on SIGTERM", async () => {
    const rules = new RulesFile(2);
    const served = serve(1, { file: rules.path });
    const gateway = await served.url("gateway");
    expect(await ask(gateway)).toBe(200);

    rules.write("version: 1\nrules:\n  - id: everybody\n    limit: ten\n");
    served.signal("SIGHUP");
    const failed = await served.line(
      ({ level, problems }) => level === 50 && problems !== undefined,
    );
    expect(JSON.stringify(failed.problems)).toContain("rules.yaml:4");
    expect(failed).not.toHaveProperty("err");
    expect(await ask(gateway)).toBe(200);
    expect(await ask(gateway)).toBe(429);

    rules.say(3);
    served.signal("SIGHUP");
    await served.line(
      ({ msg, what, level }) => level === 30 && msg === "reloaded" && what === "rules",
    );
    expect(await ask(gateway)).toBe(200);
    expect(await ask(gateway)).toBe(429);

    served.signal("SIGTERM");
    expect(await served.exited).toBe(0);
  });

  it("sees a changed file of rules by itself", async () => {
    const rules = new RulesFile(1);
    const served = serve(1, { file: rules.path });
    const gateway = await served.url("gateway");
    expect(await ask(gateway)).toBe(200);
    expect(await ask(gateway)).toBe(429);
    rules.say(2);
    await served.line(({ msg, what }) => msg === "reloaded" && what === "rules");
    expect(await ask(gateway)).toBe(200);
    expect(await ask(gateway)).toBe(429);
  });

  it("sees a changed configuration by itself, and names what needs a restart", async () => {
    const served = serve(1, rulesOf(1));
    const gateway = await served.url("gateway");
    expect(await ask(gateway)).toBe(200);
    expect(await ask(gateway)).toBe(429);
    const next = toFile(1, rulesOf(2), { admin: { listen: "127.0.0.1:1" } });
    writeFileSync(served.file, JSON.stringify(next));
    await served.line(({ msg, what }) => msg === "reloaded" && what === "config");
    expect(await served.line(({ waiting }) => waiting !== undefined)).toMatchObject({
      waiting: ["admin.listen"],
    });
    expect(await ask(gateway)).toBe(200);
    expect(await ask(gateway)).toBe(429);
  });

  it("does not start with rules that can't be used, and names their lines", async () => {
    const rules = new RulesFile(1);
    rules.write("version: 1\nrules:\n  - id: everybody\n    limit: ten\n");
    const served = serve(1, { file: rules.path });
    expect(await served.exited).toBe(1);
    expect(served.text.join("\n")).toContain("rules.yaml:4");
  });
});
