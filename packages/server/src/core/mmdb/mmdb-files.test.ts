import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { toMmdb } from "../../../test/mmdb-writer.js";
import { eventually } from "../../../test/proxy-fixture.js";
import { toTestConfig } from "../../../test/test-config.js";
import { silentTelemetry } from "../../telemetry/silent-telemetry.js";
import { createCore } from "../create-core.js";
import { openMmdbFiles } from "./mmdb-files.js";

const folder = makeFolder("mmdb-files");
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function write(name: string, ...given: Parameters<typeof toMmdb>): string {
  const file = join(folder, name);
  // As a whole, as updaters of such files do.
  writeFileSync(`${file}.new`, toMmdb(...given));
  renameSync(`${file}.new`, file);
  return file;
}

function open(files: readonly string[], telemetry = silentTelemetry()) {
  const opened = openMmdbFiles(files, { telemetry, pollMs: 5 });
  if (opened === undefined) throw new Error("no files");
  closers.push(() => opened.close());
  return opened;
}

const DE = { "203.0.113.0/24": { country: { iso_code: "DE" } } };
const FR = { "203.0.113.0/24": { country: { iso_code: "FR" } } };
const ASN = { "203.0.113.0/24": { autonomous_system_number: 64_500 } };

describe("MMDB files", () => {
  it("answer together: the first that knows a country or a system counts", () => {
    const files = open([write("de.mmdb", DE), write("asn.mmdb", ASN), write("fr.mmdb", FR)]);
    expect(files.networkOf("203.0.113.1")).toEqual({ asn: 64_500, country: "DE" });
    expect(files.networkOf("203.0.113.1")).toEqual({ asn: 64_500, country: "DE" });
    expect(files.networkOf("198.51.100.1")).toBeUndefined();
    expect(files.networkOf("198.51.100.1")).toBeUndefined();
  });

  it("are read again when one of them changes, and forget what they said", async () => {
    const file = write("changing.mmdb", DE);
    const files = open([file]);
    expect(files.networkOf("203.0.113.1")?.country).toBe("DE");
    write("changing.mmdb", FR);
    await eventually(() => files.networkOf("203.0.113.1")?.country === "FR", "the new file");
  });

  it("stay in force if a new one is bad or gone, which is reported, and come back", async () => {
    const telemetry = silentTelemetry();
    const reloaded = vi.spyOn(telemetry, "reloaded");
    const file = write("mended.mmdb", DE);
    const files = open([file], telemetry);
    writeFileSync(file, "not a database");
    await eventually(() => reloaded.mock.calls.length > 0, "the report");
    expect(reloaded).toHaveBeenLastCalledWith(
      "mmdb",
      expect.objectContaining({ code: "SLUICE_MMDB_INVALID" }),
    );
    expect(files.networkOf("203.0.113.1")?.country).toBe("DE");
    rmSync(file);
    await files.reload();
    expect(String(reloaded.mock.lastCall?.[1])).toMatch(/mended\.mmdb" was not found/);
    expect(files.networkOf("203.0.113.1")?.country).toBe("DE");
    write("mended.mmdb", FR);
    await files.reload();
    expect(reloaded).toHaveBeenLastCalledWith("mmdb");
    expect(files.networkOf("203.0.113.1")?.country).toBe("FR");
  });

  it("show their age and their entries as metrics", async () => {
    const telemetry = silentTelemetry();
    const twoDaysAgo = Math.floor(Date.now() / 1_000) - 2 * 86_400;
    open([write("aged.mmdb", DE, { buildEpochSeconds: twoDaysAgo })], telemetry);
    const text = await telemetry.metrics();
    expect(text).toContain('rate_limiter_mmdb_entries{file="aged.mmdb",region="local"} 1');
    const [, age] =
      /rate_limiter_mmdb_age_seconds\{file="aged.mmdb",region="local"\} (\S+)/.exec(text) ?? [];
    expect(Number(age)).toBeGreaterThanOrEqual(2 * 86_400);
  });

  it("count as unknown where a record can't be decoded, and say so", () => {
    const telemetry = silentTelemetry();
    const problem = vi.spyOn(telemetry, "problem");
    const content = toMmdb(DE);
    // The type of the record becomes one that does not exist.
    content[content.indexOf(Buffer.alloc(16)) + 16] = 0x00;
    content[content.indexOf(Buffer.alloc(16)) + 17] = 0xff;
    const file = join(folder, "damaged.mmdb");
    writeFileSync(file, content);
    expect(open([file], telemetry).networkOf("203.0.113.1")).toBeUndefined();
    expect(problem).toHaveBeenCalledTimes(1);
  });

  it("keep a service from starting if one can't be used", () => {
    const mmdbFiles = [join(folder, "missing.mmdb")];
    expect(() => createCore(toTestConfig({ mmdbFiles }))).toThrow(
      expect.objectContaining({ code: "SLUICE_MMDB_INVALID" }),
    );
  });

  it("are what rules of a service count by; an address that is in none counts by itself", async () => {
    const rules = {
      inline: {
        version: 1,
        rules: [
          {
            id: "country",
            key: "country",
            limit: { fixedWindow: { limit: 1, windowMs: 60_000, align: "first" } },
          },
        ],
      },
    };
    const mmdbFiles = [write("rules.mmdb", DE)];
    const core = createCore(toTestConfig({ mmdbFiles, rules }));
    closers.push(() => core.close());
    const admit = async (ip: string) => {
      const { allowed, charges } = await core.policy.admit({ method: "GET", path: "/", ip });
      return { allowed, key: charges[0].key };
    };
    expect(await admit("203.0.113.1")).toEqual({ allowed: true, key: "country:DE" });
    expect(await admit("::ffff:203.0.113.2")).toEqual({ allowed: false, key: "country:DE" });
    expect(await admit("198.51.100.1")).toEqual({ allowed: true, key: "ip:198.51.100.1" });
    expect(await admit("198.51.100.2")).toEqual({ allowed: true, key: "ip:198.51.100.2" });
  });
});
