import { readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { sluice } from "../../../test/cli/fake-terminal.js";

describe("sluice init", () => {
  it("writes a configuration and rules that serve --check accepts, and says what is next", async () => {
    const folder = join(makeFolder("init"), "new");
    const { code, out } = await sluice(["init", folder]);
    expect(code).toBe(0);
    const config = join(folder, "sluice.yaml");
    expect(out).toContain(`wrote ${config}\nwrote ${join(folder, "rules.yaml")}\n`);
    expect(out).toContain(`sluice serve --config ${config}\n`);
    const checked = await sluice(["serve", "--check", "-c", config]);
    expect(checked).toMatchObject({ code: 0, err: "" });
    expect(checked.out).toContain("gateway, 1 upstream, admin, 2 rules");
  });

  it("is commented: each section says what it is for", async () => {
    const folder = makeFolder("init");
    await sluice(["init", folder]);
    const text = readFileSync(join(folder, "sluice.yaml"), "utf8");
    for (const section of ["gateway", "admin", "upstreams", "routes", "rules"]) {
      expect(text).toMatch(new RegExp(`^# .*\n${section}:`, "m"));
    }
  });

  it("overwrites nothing, and exits with 1", async () => {
    const folder = makeFolder("init");
    await sluice(["init", folder]);
    const before = readFileSync(join(folder, "rules.yaml"), "utf8");
    const { code, err } = await sluice(["init", folder]);
    expect(code).toBe(1);
    expect(err).toContain("already exist; nothing was written");
    expect(readFileSync(join(folder, "rules.yaml"), "utf8")).toBe(before);
    expect(readdirSync(folder)).toHaveLength(2);
  });

  it("writes neither file if one is a link to nothing", async () => {
    const folder = makeFolder("init");
    symlinkSync(join(folder, "elsewhere.yaml"), join(folder, "rules.yaml"));
    const { code, err } = await sluice(["init", folder]);
    expect(code).toBe(1);
    expect(err).toContain("already exists; nothing was written");
    expect(readdirSync(folder)).toEqual(["rules.yaml"]);
  });

  it("says so if the folder is a file, also one on the way", async () => {
    const file = join(makeFolder("init"), "file");
    writeFileSync(file, "");
    for (const folder of [file, join(file, "below")]) {
      const { code, err } = await sluice(["init", folder]);
      expect(code).toBe(1);
      expect(err).toContain(file);
    }
  });
});
