import { expect, it } from "vitest";
import { ControlState, type NodeChange } from "../state/state.js";
import { ChangeHub } from "./change-hub.js";
import { SnapshotReader } from "./feed-lines.js";

const HASH = "a".repeat(64);

function keyChange(sequence: number, id: string, isThere = true): NodeChange {
  const body = { tenant: "acme", name: id, scopes: [], hash: HASH, createdAtMs: 1 };
  return {
    sequence,
    kind: "api-key",
    entityId: id.padStart(12, "0"),
    after: isThere ? body : undefined,
    hash: `h${sequence}`,
    previousHash: sequence === 1 ? "" : `h${sequence - 1}`,
  };
}

function fill(keys: number) {
  const state = new ControlState();
  const hub = new ChangeHub(state);
  const apply = (change: NodeChange) => {
    state.apply([change]);
    hub.add([change]);
  };
  for (let n = 1; n <= keys; n++) apply(keyChange(n, `k${n}`));
  return { state, hub, apply };
}

function read(pieces: readonly string[]) {
  const reader = new SnapshotReader();
  for (const line of pieces.join("").trimEnd().split("\n")) reader.add(line);
  return reader.finish();
}

it("makes a snapshot while keys are made and removed, and none is missing", async () => {
  const { state, hub, apply } = fill(5_000);
  let sequence = 5_000;
  const making = hub.snapshot();
  // The first keys, whose places in the table the last ones take.
  for (let n = 1; n <= 3; n++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    apply(keyChange(++sequence, `k${n}`, false));
    apply(keyChange(++sequence, `new${n}`));
  }
  const snapshot = read(await making);
  const follower = new ControlState(snapshot);
  const lines = hub.linesAfter(follower.position) ?? [];
  follower.apply(lines.map((line) => JSON.parse(line)));
  const ids = (of: ControlState) => [...of.all("api-key")].map(({ id }) => id).sort();
  expect(ids(follower)).toEqual(ids(state));
  expect(follower.position).toEqual(state.position);
});

it("hands one snapshot to all that ask soon, with the changes since then", async () => {
  const { hub, apply } = fill(10);
  const first = await hub.snapshot();
  apply(keyChange(11, "k11"));
  expect(await hub.snapshot()).toBe(first);
  expect(hub.linesAfter({ sequence: 10, hash: "h10" })).toHaveLength(1);
  hub.restart();
  expect(await hub.snapshot()).not.toBe(first);
});

it.each([
  ["the last change", { sequence: 10, hash: "h10" }, 0],
  ["an earlier one", { sequence: 7, hash: "h7" }, 3],
  ["none", { sequence: 0, hash: "" }, 10],
  ["a change that this node does not have yet", { sequence: 12, hash: "h12" }, 0],
  ["a change of another history", { sequence: 7, hash: "z" }, undefined],
  ["the last change of another history", { sequence: 10, hash: "z" }, undefined],
])("has what comes after %s", (_what, position, count) => {
  const { hub } = fill(10);
  expect(hub.linesAfter(position)?.length).toBe(count);
});
