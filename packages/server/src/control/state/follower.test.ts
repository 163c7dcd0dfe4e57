import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { testDatabases } from "../../../test/control/databases.js";
import { migrate } from "../../database/migrate.js";
import { Changes } from "../changes/changes.js";
import type { EntityKind } from "../changes/entity.js";
import { DatabaseFeed } from "../feed/database-feed.js";
import type { ControlFeed } from "./control-feed.js";
import { Follower, type FollowerOptions } from "./follower.js";
import { SnapshotFile } from "./snapshot-file.js";
import { ControlState, type NodeChange } from "./state.js";

const all = testDatabases();
const followers: Follower[] = [];
afterEach(async () => {
  await Promise.all(followers.splice(0).map((follower) => follower.close()));
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });
const save = (id: string, n: number) => ({
  action: "save",
  kind: "plan" as const,
  id,
  body: { n },
});
const fileOf = () => join(makeFolder("snapshot"), "control.snapshot");

async function writeEmpty(path: string): Promise<void> {
  const file = new SnapshotFile(path);
  file.replace(new ControlState());
  await file.settled();
}

function follow(options: FollowerOptions): Follower {
  const follower = new Follower(options);
  followers.push(follower);
  return follower;
}

describe.each(all)("a follower of $name", (databases) => {
  it("has every change that another process makes within two seconds, and says which kinds changed", async () => {
    const url = await databases.create();
    const [writer, reader] = [databases.open(url), databases.open(url)];
    await migrate(writer);
    const changes = new Changes(writer);
    await changes.apply(by(), () => [save("a", 1)]);
    const onChanged = vi.fn();
    const follower = follow({ feed: new DatabaseFeed(reader), onChanged });
    await follower.start();
    expect(follower.state.find("plan", "a")).toEqual({ n: 1 });
    onChanged.mockClear();
    await changes.apply(by(), () => [save("a", 2), save("b", 1)]);
    await vi.waitFor(() => expect(follower.state.sequence).toBe(3), 2_000);
    expect(follower.state.find("plan", "a")).toEqual({ n: 2 });
    expect(onChanged).toHaveBeenCalledWith(new Set<EntityKind>(["plan"]));
    await changes.apply(by(), () => [{ ...save("b", 0), action: "delete", body: undefined }]);
    await vi.waitFor(() => expect(follower.state.find("plan", "b")).toBeUndefined(), 2_000);
    expect(follower.ageMs).toBeLessThan(60_000);
  });

  it("starts from its file without the database, and catches up when that is back", async () => {
    const database = await databases.ready();
    const changes = new Changes(database);
    const snapshotFile = fileOf();
    const feed = new DatabaseFeed(database);
    const before = follow({ feed, snapshotFile });
    await before.start();
    await changes.apply(by(), () => [save("a", 1)]);
    await before.catchUp();
    await before.close();
    let isAway = true;
    const onProblem = vi.fn();
    const unreliable: ControlFeed = {
      snapshot: () => (isAway ? Promise.reject(new Error("away")) : feed.snapshot()),
      changesAfter: (n) => (isAway ? Promise.reject(new Error("away")) : feed.changesAfter(n)),
      subscribe: () => () => {},
    };
    const after = follow({ feed: unreliable, snapshotFile, onProblem, pollMs: 20 });
    await after.start();
    expect(after.state.find("plan", "a")).toEqual({ n: 1 });
    expect(after.hasState).toBe(true);
    expect(after.ageMs).toBeGreaterThan(0);
    expect(after.ageMs).toBeLessThan(60_000);
    expect(onProblem).toHaveBeenCalledWith(
      "the control plane can't be followed",
      expect.any(Error),
      "feed",
    );
    await changes.apply(by(), () => [save("a", 2)]);
    isAway = false;
    await vi.waitFor(() => expect(after.state.find("plan", "a")).toEqual({ n: 2 }), 20_000);
  });

  it("goes back with a database that was restored from a backup", async () => {
    const [before, restored] = [await databases.ready(), await databases.ready()];
    for (const n of [1, 2, 3]) await new Changes(before).apply(by(), () => [save("a", n)]);
    await new Changes(restored).apply(by(), () => [save("a", 1)]);
    const snapshotFile = fileOf();
    const first = follow({ feed: new DatabaseFeed(before), snapshotFile });
    await first.start();
    await first.close();
    const second = follow({ feed: new DatabaseFeed(restored), snapshotFile });
    await second.start();
    expect(second.state.find("plan", "a")).toEqual({ n: 1 });
    // As many changes as the node has seen, but others.
    await second.close();
    for (const n of [7, 8]) await new Changes(restored).apply(by(), () => [save("a", n)]);
    const third = follow({ feed: new DatabaseFeed(before), snapshotFile });
    await third.start();
    await third.close();
    const fourth = follow({ feed: new DatabaseFeed(restored), snapshotFile });
    await fourth.start();
    expect(fourth.state.find("plan", "a")).toEqual({ n: 8 });
  });

  it("that reads a snapshot while changes go on ends with what the database has", async () => {
    const database = await databases.ready();
    const changes = new Changes(database);
    await changes.apply(by(), () => Array.from({ length: 50 }, (_, n) => save(`p${n}`, 0)));
    const writing = (async () => {
      for (let n = 1; n <= 30; n++) {
        const id = `p${n % 7}`;
        const body = n % 5 === 0 ? undefined : { n };
        await changes.apply(by(), () => [{ action: "save", kind: "plan", id, body }]);
      }
    })();
    const readers = Array.from({ length: 5 }, async () => {
      const follower = follow({ feed: new DatabaseFeed(database) });
      await follower.start();
      return follower;
    });
    await writing;
    for (const follower of await Promise.all(readers)) {
      await follower.catchUp();
      const expected = (await new DatabaseFeed(database).snapshot()).entities;
      const ours = follower.state.toSnapshot().entities;
      const sorted = (list: typeof ours) => [...list].sort((a, b) => a.id.localeCompare(b.id));
      expect(sorted(ours)).toEqual(sorted(expected));
    }
  });
});

describe("a state", () => {
  const change = (sequence: number, entityId = "a", n = sequence): NodeChange => ({
    sequence,
    kind: "plan",
    entityId,
    after: { n },
  });

  it("applies changes in order, each once, and never over a gap", () => {
    const state = new ControlState();
    state.apply([change(1), change(2), change(2, "a", 99), change(1, "a", 99)]);
    expect(state.find("plan", "a")).toEqual({ n: 2 });
    expect(() => state.apply([change(3), change(5)])).toThrow("change 5 came after 3");
    expect(state.sequence).toBe(3);
  });

  it("of another history is not mixed with changes of this one", () => {
    const state = new ControlState();
    const link = (n: number, hash: string, previousHash: string) => ({
      ...change(n),
      hash,
      previousHash,
    });
    state.apply([link(1, "a", ""), link(2, "b", "a")]);
    expect(() => state.apply([link(3, "z", "y")])).toThrow("another history");
    expect(state.position).toEqual({ sequence: 2, hash: "b" });
    state.apply([link(3, "c", "b")]);
    expect(state.sequence).toBe(3);
  });

  it("is loaded again by its follower when changes are missing", async () => {
    const onProblem = vi.fn();
    const snapshot = new ControlState();
    snapshot.apply([1, 2, 3, 4, 5].map((n) => change(n)));
    const feed: ControlFeed = {
      snapshot: async () => snapshot.toSnapshot(),
      changesAfter: async ({ sequence }) => (sequence === 0 ? [change(4)] : []),
      subscribe: () => () => {},
    };
    const file = fileOf();
    await writeEmpty(file);
    const follower = follow({ feed, snapshotFile: file, onProblem });
    await follower.start();
    expect(follower.state.sequence).toBe(5);
    expect(onProblem).toHaveBeenCalledWith(
      "changes are missing, loading a snapshot",
      expect.any(Error),
      "feed",
    );
  });

  it("reports what came before a gap as changed, while the snapshot is still on its way", async () => {
    const onChanged = vi.fn();
    let arrive = () => {};
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const feed: ControlFeed = {
      snapshot: () => arrived.then(() => ({ sequence: 4, entities: [] })),
      changesAfter: async ({ sequence }) => (sequence === 0 ? [change(1), change(4)] : []),
      subscribe: () => () => {},
    };
    const file = fileOf();
    await writeEmpty(file);
    const follower = follow({ feed, snapshotFile: file, onChanged, onProblem: () => {} });
    void follower.start();
    await vi.waitFor(() => expect(follower.state.sequence).toBe(1), 20_000);
    expect(onChanged).toHaveBeenCalled();
    arrive();
  });
});
