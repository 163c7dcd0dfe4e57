import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { testDatabases } from "../../test/control/databases.js";
import type { Database } from "../database/database.js";
import { ChangeHub } from "./feed/change-hub.js";
import { FollowerStreams } from "./feed/follower-streams.js";
import { ControlNodes } from "./nodes.js";
import { ControlState } from "./state/state.js";

const all = testDatabases();
const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});
afterAll(() => Promise.all(all.map((each) => each.stop())));

const WRITE_MS = 20;

function open(database: Database, { name = "control", instance = "a" } = {}) {
  const state = new ControlState();
  const streams = new FollowerStreams(new ChangeHub(state));
  const onSharedName = vi.fn();
  const of = { name, instance, database, state, streams, onSharedName, writeMs: WRITE_MS };
  const nodes = new ControlNodes(of);
  const close = () => {
    nodes.close();
    streams.close();
  };
  ends.push(close);
  return { nodes, onSharedName, close };
}

describe.each(all)("control nodes on $name", (databases) => {
  it("that are configured with one name are listed by two, on each of them", async () => {
    const database = await databases.ready();
    const [one, other] = [open(database), open(database, { instance: "b" })];
    await vi.waitFor(async () => {
      for (const { nodes } of [one, other]) {
        const names = (await nodes.list()).map(({ name }) => name);
        expect(names).toEqual(["control", "control~2"]);
      }
    }, 10_000);
    const listed = [one, other].map(({ nodes }) => nodes.name);
    expect(listed.toSorted()).toEqual(["control", "control~2"]);
    // One of them gave the name up, and says so once.
    const said = [one, other].flatMap(({ onSharedName }) => onSharedName.mock.calls);
    expect(said).toEqual([["control", "control~2"]]);
  });

  it("keep their name over a restart, however soon it comes", async () => {
    const database = await databases.ready();
    const before = open(database);
    await vi.waitFor(async () => {
      const [row] = await database.query("SELECT name FROM nodes");
      expect(row).toBeDefined();
    }, 10_000);
    before.close();
    const after = open(database, { instance: "b" });
    const write = vi.spyOn(database, "query");
    await vi.waitFor(() => expect(write.mock.calls.length).toBeGreaterThan(10), 10_000);
    expect((await after.nodes.list()).map(({ name }) => name)).toEqual(["control"]);
    expect(after.onSharedName).not.toHaveBeenCalled();
  });
});
