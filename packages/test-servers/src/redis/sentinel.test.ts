import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitFor } from "../clock.js";
import { type SentinelGroup, startSentinelGroup } from "../index.js";

describe("a sentinel group", () => {
  let group: SentinelGroup;
  beforeAll(async () => {
    group = await startSentinelGroup({ replicas: 2, sentinels: 3 });
  });
  afterAll(() => group.stop());

  it("is formed when it starts: one primary, its replicas, and sentinels that agree on both", async () => {
    expect(group.servers).toHaveLength(3);
    expect(group.sentinels).toHaveLength(3);
    const roles = await Promise.all(group.servers.map((server) => server.command("ROLE")));
    expect(roles.map((role) => (role as string[])[0])).toEqual(["master", "slave", "slave"]);
    expect(await group.primary()).toBe(group.servers[0]);
    for (const sentinel of group.sentinels)
      expect(await sentinel.command("SENTINEL", "CKQUORUM", group.masterName)).toMatch(/^OK 3/);
  });

  it("replicates what the primary acknowledges", async () => {
    const primary = await group.primary();
    await primary.command("SET", "key", "value");
    expect(await primary.command("WAIT", 2, 2000)).toBe(2);
    expect(await group.servers[1].command("GET", "key")).toBe("value");
    await expect(group.servers[1].command("SET", "key", 1)).rejects.toMatchObject({
      code: "READONLY",
    });
  });

  it("elects a new primary when the old one is killed, and takes the old one back as a replica", async () => {
    const before = await group.primary();
    await before.kill();
    const after = await group.failedOver(before);
    expect(after).not.toBe(before);
    expect(await after.command("GET", "key")).toBe("value");
    expect(await after.command("SET", "key", "newer")).toBe("OK");
    await before.restart();
    await waitFor("the old primary to follow", 15_000, async () => {
      return (await before.command("GET", "key")) === "newer" || undefined;
    });
    expect(((await before.command("ROLE")) as string[])[0]).toBe("slave");
    expect(await group.primary()).toBe(after);
  });

  it("elects a new primary when the old one hangs", async () => {
    const before = await group.primary();
    before.pause();
    const after = await group.failedOver(before);
    expect(await after.command("SET", "key", "again")).toBe("OK");
    before.resume();
  });
});
