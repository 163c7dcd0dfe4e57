import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../clock.js";
import { type Cluster, RespConnection, startCluster } from "../index.js";

describe("a cluster", () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ primaries: 3, replicasEach: 1 });
  });
  afterAll(() => cluster.stop());

  it("is whole when it starts: three primaries with all slots, each with a replica in sync", async () => {
    expect(await cluster.primaries()).toEqual(cluster.nodes.slice(0, 3));
    for (const node of cluster.nodes) {
      const info = String(await node.command("CLUSTER", "INFO"));
      expect(info).toContain("cluster_state:ok");
      expect(info).toContain("cluster_slots_ok:16384");
      expect(info).toContain("cluster_known_nodes:6");
    }
    for (const node of cluster.nodes.slice(0, 3))
      expect(await node.info("replication")).toMatchObject({ connected_slaves: "1" });
    // A node lists a replica once it has heard by gossip how far it is.
    const lengths = async () => {
      const [slots] = await Promise.all([cluster.nodes[5].command("CLUSTER", "SLOTS")]);
      return (slots as unknown[][]).map((range) => range.length);
    };
    await expect.poll(lengths).toEqual([4, 4, 4]);
  });

  it("names the slot of any key as the server does", async () => {
    const keys = [
      "",
      "a",
      "{}",
      "{}x",
      "{a}b",
      "x{a}{b}",
      "{{a}}",
      "a{",
      "}{",
      "{a",
      "grüße{ß}",
      "x".repeat(999),
    ];
    for (const key of keys)
      expect([key, cluster.slotOf(key)]).toEqual([
        key,
        await cluster.nodes[0].command("CLUSTER", "KEYSLOT", key),
      ]);
  });

  it("answers MOVED for a slot of another node", async () => {
    const slot = cluster.slotOf("key");
    const owner = await cluster.ownerOf(slot);
    expect(await owner.command("SET", "key", 1)).toBe("OK");
    const other = cluster.nodes.slice(0, 3).find((node) => node !== owner) as typeof owner;
    const moved = { message: `MOVED ${slot} ${owner.host}:${owner.port}` };
    await expect(other.command("GET", "key")).rejects.toMatchObject(moved);
  });

  it("migrates a slot with all its keys and their expiry, whatever bytes they are", async () => {
    const slot = cluster.slotOf("{tag}");
    const from = await cluster.ownerOf(slot);
    const to = cluster.nodes.slice(0, 3).find((node) => node !== from) as typeof from;
    for (let i = 0; i < 250; i++) await from.command("SET", `{tag}${i}`, i, "PX", 600_000);
    const bytes = new RespConnection(from, "latin1");
    await bytes.command("SET", "{tag}\xff\x00\r\n", "bytes");
    bytes.close();
    await cluster.migrateSlot(slot, to);
    expect(await from.command("CLUSTER", "COUNTKEYSINSLOT", slot)).toBe(0);
    expect(await to.command("CLUSTER", "COUNTKEYSINSLOT", slot)).toBe(251);
    expect(await to.command("GET", "{tag}249")).toBe("249");
    expect(await to.command("PTTL", "{tag}249")).toBeGreaterThan(500_000);
    expect(await cluster.ownerOf(slot)).toBe(to);
    await expect(from.command("GET", "{tag}1")).rejects.toMatchObject({ code: "MOVED" });
    await cluster.migrateSlot(slot, to);
    expect(await to.command("CLUSTER", "COUNTKEYSINSLOT", slot)).toBe(251);
  });

  it("holds a slot half open: ASK for what has moved, TRYAGAIN for a mixture", async () => {
    const slot = cluster.slotOf("{half}");
    const from = await cluster.ownerOf(slot);
    const to = cluster.nodes.slice(0, 3).find((node) => node !== from) as typeof from;
    for (const key of ["{half}a", "{half}b"]) await from.command("SET", key, key);
    const migration = await cluster.openSlot(slot, to);
    expect(await migration.moveKeys(1)).toBe(1);
    await expect(from.command("GET", "{half}new")).rejects.toMatchObject({
      message: `ASK ${slot} ${to.host}:${to.port}`,
    });
    await expect(from.command("MGET", "{half}a", "{half}b")).rejects.toMatchObject({
      code: "TRYAGAIN",
    });
    expect(await migration.moveKeys()).toBe(1);
    await migration.finish();
    expect(await to.command("MGET", "{half}a", "{half}b")).toEqual(["{half}a", "{half}b"]);
  });

  it("closes a slot again when a migration is abandoned", async () => {
    const slot = cluster.slotOf("{stay}");
    const from = await cluster.ownerOf(slot);
    const to = cluster.nodes.slice(0, 3).find((node) => node !== from) as typeof from;
    await (await cluster.openSlot(slot, to)).abandon();
    expect(await from.command("SET", "{stay}", 1)).toBe("OK");
  });

  it("promotes a replica when a primary is killed, and takes it back as a replica", async () => {
    const slot = cluster.slotOf("key");
    const before = await cluster.ownerOf(slot);
    await before.command("SET", "key", "kept");
    expect(await before.command("WAIT", 1, 2000)).toBe(1);
    await before.kill();
    const after = await cluster.failedOver(slot, before);
    expect(await after.command("GET", "key")).toBe("kept");
    expect(await cluster.primaries()).toHaveLength(3);
    await before.restart();
    await waitFor("the old primary to follow", 15_000, async () => {
      return (await before.info("replication")).master_link_status === "up" || undefined;
    });
    expect(await cluster.ownerOf(slot)).toBe(after);
  });
});

it("a cluster of two can't agree on anything, and is refused", async () => {
  await expect(startCluster({ primaries: 2 })).rejects.toThrow("at least 3, got 2");
});
