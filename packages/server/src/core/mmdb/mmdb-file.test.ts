import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { toMmdb } from "../../../test/mmdb-writer.js";
import { readMmdb, readMmdbLater } from "./mmdb-file.js";

const folder = makeFolder("mmdb-file");
let count = 0;

function write(content: Buffer | string): string {
  const file = join(folder, `${++count}.mmdb`);
  writeFileSync(file, content);
  return file;
}

const NETWORKS = {
  "203.0.113.0/24": { autonomous_system_number: 64_500, country: { iso_code: "DE" } },
  "203.0.113.128/25": { autonomous_system_number: 64_501, country: { iso_code: "FR" } },
  "2001:db8::/32": { autonomous_system_number: 64_502, registered_country: { iso_code: "JP" } },
  "2001:db8:8000::/33": { asn: "AS64503", country: "SE" },
};

describe("an MMDB file", () => {
  it.each([24, 28, 32] as const)(
    "finds networks in a tree with records of %i bits",
    (recordSize) => {
      const file = readMmdb(write(toMmdb(NETWORKS, { recordSize })));
      expect(file.networkOf("203.0.113.1")).toEqual({ asn: 64_500, country: "DE" });
      expect(file.networkOf("203.0.113.200")).toEqual({ asn: 64_501, country: "FR" });
      expect(file.networkOf("2001:db8::1")).toEqual({ asn: 64_502, country: "JP" });
      expect(file.networkOf("2001:db8:8000::1")).toEqual({ asn: "AS64503", country: "SE" });
      expect(file.networkOf("198.51.100.1")).toBeUndefined();
      expect(file.networkOf("2001:db9::1")).toBeUndefined();
    },
  );

  it.each([24, 28, 32] as const)("counts networks in records of %i bits", (recordSize) => {
    // The half of a network that another one lies in counts by itself.
    const file = readMmdb(write(toMmdb(NETWORKS, { recordSize })));
    expect(file.entries).toBe(4);
  });

  it("finds IPv4 in a file that has nothing else", () => {
    const only4 = { "203.0.113.0/24": { country_code: "DE" } };
    const file = readMmdb(write(toMmdb(only4, { ipVersion: 4 })));
    expect(file.networkOf("203.0.113.1")).toEqual({ asn: undefined, country: "DE" });
  });

  it("says when it was built, and its name without its folder", () => {
    const file = readMmdb(write(toMmdb(NETWORKS, { buildEpochSeconds: 1_700_000_001 })));
    expect(file).toMatchObject({ builtAtMs: 1_700_000_001_000, file: `${count}.mmdb` });
  });

  it("is refused if it is missing, no MMDB file, or cut short", async () => {
    const missing = join(folder, "none.mmdb");
    const refused = { code: "SLUICE_MMDB_INVALID" };
    expect(() => readMmdb(missing)).toThrow(expect.objectContaining(refused));
    expect(() => readMmdb(missing)).toThrow(/none\.mmdb" was not found; correct the path/);
    expect(() => readMmdb(write("not a database"))).toThrow(expect.objectContaining(refused));
    const whole = toMmdb(NETWORKS);
    const cut = Buffer.concat([
      whole.subarray(0, 50),
      whole.subarray(whole.indexOf("\xab", 0, "latin1")),
    ]);
    expect(() => readMmdb(write(cut))).toThrow(expect.objectContaining(refused));
    await expect(readMmdbLater(write(cut))).rejects.toMatchObject(refused);
  });
});
