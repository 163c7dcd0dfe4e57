import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it } from "vitest";
import { toMmdb } from "../../../test/mmdb-writer.js";
import { countEntries, countEntriesLater } from "./entry-count.js";
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

  it("knows no IPv6 address if it has only IPv4", () => {
    // The first 32 bits of the IPv6 address, read as IPv4.
    const only4 = { "32.1.13.184/32": { asn: 64_500 } };
    const file = readMmdb(write(toMmdb(only4, { ipVersion: 4 })));
    expect(file.networkOf("32.1.13.184")).toMatchObject({ asn: 64_500 });
    expect(file.networkOf("2001:db8::1")).toBeUndefined();
  });

  it("has as many entries when others have their turns while they are counted", async () => {
    // Each node has nothing on its left side, and data on its right.
    const shape = { nodeCount: 120_001, recordSize: 24 };
    const tree = Buffer.alloc(shape.nodeCount * 6);
    for (let at = 3; at < tree.length; at += 6) tree.writeUIntBE(shape.nodeCount + 16, at, 3);
    let hadTurn = false;
    setImmediate(() => {
      hadTurn = true;
    });
    expect(await countEntriesLater(tree, shape)).toBe(shape.nodeCount);
    expect(hadTurn).toBe(true);
    expect(countEntries(tree, shape)).toBe(shape.nodeCount);
    expect((await readMmdbLater(write(toMmdb(NETWORKS)))).entries).toBe(4);
  });

  it("is refused if it is not a file, or larger than any database", async () => {
    expect(() => readMmdb("/dev/zero")).toThrow('"/dev/zero" can\'t be used: it is not a file');
    await expect(readMmdbLater(folder)).rejects.toThrow("it is not a file");
    const large = write("");
    truncateSync(large, 1_000_000_001);
    const why = "it has 1001 MB; at most 1000 MB are read";
    expect(() => readMmdb(large)).toThrow(why);
    await expect(readMmdbLater(large)).rejects.toThrow(why);
    rmSync(large);
  });

  it("fails for the addresses of a record that points to itself, and for no others", () => {
    const content = toMmdb({ ...NETWORKS, "198.51.100.0/24": "loop" });
    // The string becomes a pointer to its own place in the data, of 2 bytes.
    const at = content.indexOf("loop") - 1;
    const place = at - (content.indexOf(Buffer.alloc(16)) + 16);
    content[at] = (1 << 5) | (place >> 8);
    content[at + 1] = place & 0xff;
    const file = readMmdb(write(content));
    expect(() => file.networkOf("198.51.100.1")).toThrow();
    expect(file.networkOf("203.0.113.1")).toEqual({ asn: 64_500, country: "DE" });
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
