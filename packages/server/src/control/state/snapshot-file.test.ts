import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { describe, expect, it, vi } from "vitest";
import { SnapshotFile } from "./snapshot-file.js";
import { ControlState, type NodeChange } from "./state.js";

const fileOf = () => join(makeFolder("snapshot"), "control.snapshot");

describe("the file of a follower", () => {
  const change = (sequence: number): NodeChange => ({
    sequence,
    kind: "plan",
    entityId: `k${sequence}`,
    after: { name: `schlüssel ${sequence}` },
  });
  const broken = vi.fn();

  async function fill(path: string, changes: number): Promise<ControlState> {
    const state = new ControlState();
    const file = new SnapshotFile(path);
    state.apply([change(1)]);
    file.replace(state);
    await file.settled();
    for (let n = 2; n <= changes + 1; n++) {
      state.apply([change(n)]);
      file.append([change(n)], state);
    }
    await file.settled();
    return state;
  }

  it("is readable by its user only, and read as it was written", async () => {
    const path = fileOf();
    const state = await fill(path, 5);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(new SnapshotFile(path).read(broken)?.toSnapshot()).toEqual(state.toSnapshot());
  });

  it("that a crash cut off anywhere in its changes is read up to there, and goes on", async () => {
    const path = fileOf();
    await fill(path, 3);
    const whole = readFileSync(path);
    const snapshotBytes = whole.indexOf("\n", whole.indexOf("\n") + 1) + 1;
    for (let length = snapshotBytes; length <= whole.length; length++) {
      writeFileSync(path, whole.subarray(0, length));
      const file = new SnapshotFile(path);
      const state = file.read(broken);
      const lines = whole.subarray(snapshotBytes, length).toString("latin1").split("\n").length - 1;
      expect(state?.sequence).toBe(1 + lines);
      state?.apply([change(2 + lines)]);
      file.append([change(2 + lines)], state as ControlState);
      expect(new SnapshotFile(path).read(broken)?.sequence).toBe(2 + lines);
    }
    expect(broken).not.toHaveBeenCalled();
  });

  it.each([
    ["empty", () => ""],
    ["cut off in its snapshot", (text: string) => text.slice(0, 150)],
    ["altered", (text: string) => text.replace("schlüssel 1", "schlüssel 7")],
    ["altered in a change", (text: string) => text.replace("schlüssel 3", "schlüssel 7")],
    ["of another format", (text: string) => text.replace('"format":1', '"format":2')],
    ["something else", () => "hello\n"],
  ])("that is %s is reported and not used", async (_name, damage) => {
    const path = fileOf();
    await fill(path, 3);
    writeFileSync(path, damage(readFileSync(path, "utf8")));
    const onBroken = vi.fn();
    expect(new SnapshotFile(path).read(onBroken)).toBeUndefined();
    expect(onBroken).toHaveBeenCalledTimes(1);
  });

  it.each([
    ["change", (file: SnapshotFile, state: ControlState) => file.append([change(3)], state)],
    ["mark", (file: SnapshotFile, state: ControlState) => file.touch(state)],
  ])(
    "that missed a change is whole with the next %s that can be written",
    async (_name, writeNext) => {
      const path = fileOf();
      const [state, file] = [new ControlState(), new SnapshotFile(path)];
      state.apply([change(1)]);
      file.replace(state);
      await file.settled();
      rmSync(dirname(path), { recursive: true });
      state.apply([change(2)]);
      expect(() => file.append([change(2)], state)).toThrow("ENOENT");
      mkdirSync(dirname(path));
      state.apply([change(3)]);
      writeNext(file, state);
      await file.settled();
      expect(new SnapshotFile(path).read(broken)?.toSnapshot()).toEqual(state.toSnapshot());
      expect(broken).not.toHaveBeenCalled();
    },
  );

  it("is rewritten when its changes grow too many", async () => {
    const path = fileOf();
    const state = await fill(path, 1_500);
    expect(readFileSync(path, "utf8").split("\n").length).toBeLessThan(2_000);
    expect(new SnapshotFile(path).read(broken)?.toSnapshot()).toEqual(state.toSnapshot());
    appendFileSync(path, "x");
    expect(new SnapshotFile(path).read(broken)?.sequence).toBe(1_501);
  });

  it("says what keeps a snapshot from being written, and keeps the one before it", async () => {
    const path = fileOf();
    const state = await fill(path, 3);
    const onFailed = vi.fn();
    const file = new SnapshotFile(path, onFailed);
    mkdirSync(file.unfinishedPath);
    file.replace(state);
    await file.settled();
    expect(onFailed).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ code: "EISDIR" }));
    expect(new SnapshotFile(path).read(broken)?.sequence).toBe(4);
    rmSync(file.unfinishedPath, { recursive: true });
    state.apply([change(5)]);
    file.append([change(5)], state);
    await file.settled();
    expect(new SnapshotFile(path).read(broken)?.toSnapshot()).toEqual(state.toSnapshot());
  });

  it("is whole when two processes that are configured with it write snapshots at the same time", async () => {
    const path = fileOf();
    const states = [2_000, 3_000].map((changes) => {
      const state = new ControlState();
      state.apply(Array.from({ length: changes }, (_, n) => change(n + 1)));
      return state;
    });
    const failed = vi.fn();
    for (let round = 0; round < 3; round++) {
      const files = states.map((state) => {
        const file = new SnapshotFile(path, failed);
        file.replace(state);
        return file;
      });
      await Promise.all(files.map((file) => file.settled()));
      expect([2_000, 3_000]).toContain(new SnapshotFile(path).read(broken)?.sequence);
    }
    expect(readdirSync(dirname(path))).toEqual(["control.snapshot"]);
    expect([failed.mock.calls, broken.mock.calls]).toEqual([[], []]);
  });

  it("has nothing beside it that killed processes left, except what may still be written", async () => {
    const path = fileOf();
    await fill(path, 1);
    const folder = dirname(path);
    const left = ["control.snapshot.new", "control.snapshot.0123456789abcdef.new"];
    const others = ["control.snapshot.fresh.new", "control.snapshot.old", "other.snapshot.new"];
    for (const name of [...left, ...others]) writeFileSync(join(folder, name), "half");
    const agoSeconds = Date.now() / 1_000 - 61;
    for (const name of readdirSync(folder)) {
      if (!name.includes("fresh")) utimesSync(join(folder, name), agoSeconds, agoSeconds);
    }
    new SnapshotFile(path).removeLeftovers();
    expect(readdirSync(folder).sort()).toEqual(["control.snapshot", ...others]);
    new SnapshotFile("/nowhere/control.snapshot").removeLeftovers();
  });

  describe("with many API keys", () => {
    const KEYS = 3_000;
    const hash = "0".repeat(64);
    const toId = (n: number) => String(n).padStart(12, "0");
    const toBody = (n: number) => ({ tenant: `t${n}`, scopes: [], hash });
    const write = (sequence: number, n: number): NodeChange => ({
      sequence,
      kind: "api-key",
      entityId: toId(n),
      after: toBody(sequence),
    });
    const remove = (sequence: number, n: number): NodeChange => ({
      ...write(sequence, n),
      after: undefined,
    });
    const filled = () => {
      const state = new ControlState();
      state.apply(Array.from({ length: KEYS }, (_, n) => write(n + 1, n)));
      return state;
    };
    const sorted = (state: ControlState | undefined) =>
      [...(state?.all("api-key") ?? [])].sort((a, b) => (a.id < b.id ? -1 : 1));
    const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

    it("is written in many short steps, so that decisions have their turn", async () => {
      const [path, state] = [fileOf(), filled()];
      const file = new SnapshotFile(path);
      let isDone = false;
      file.replace(state);
      void file.settled().then(() => {
        isDone = true;
      });
      let turns = 0;
      for (; !isDone; turns++) await turn();
      expect(turns).toBeGreaterThan(KEYS / 250);
      expect(sorted(new SnapshotFile(path).read(broken))).toEqual(sorted(state));
    });

    it("is whole at every moment of a rewrite, with the changes that come meanwhile", async () => {
      const [path, state] = [fileOf(), filled()];
      const file = new SnapshotFile(path);
      file.replace(state);
      await file.settled();
      // As many changes as there are keys, and one more, make it write a new one.
      const first = Array.from({ length: KEYS + 1 }, (_, n) => write(KEYS + n + 1, n % KEYS));
      state.apply(first);
      file.append(first, state);
      expect(existsSync(file.unfinishedPath)).toBe(false);
      let isDone = false;
      void file.settled().then(() => {
        isDone = true;
      });
      let [n, reads] = [0, 0];
      for (; !isDone && n < KEYS; n++) {
        const { sequence } = state;
        // The first rows are those that the last ones take the place of.
        const changes = [
          remove(sequence + 1, n),
          write(sequence + 2, KEYS + n),
          write(sequence + 3, KEYS - 1 - n),
        ];
        state.apply(changes);
        file.append(changes, state);
        if (n % 10 === 0 && ++reads > 0) {
          expect(new SnapshotFile(path).read(broken)?.position).toEqual(state.position);
        }
        await turn();
      }
      expect([n > 10, reads > 1]).toEqual([true, true]);
      expect(sorted(new SnapshotFile(path).read(broken))).toEqual(sorted(state));
      expect(readFileSync(path, "utf8").split("\n").length).toBeLessThan(1.5 * KEYS);
    });

    it("stays what it was until another history is written in its place, and misses nothing of that", async () => {
      const [path, before] = [fileOf(), filled()];
      const file = new SnapshotFile(path);
      file.replace(before);
      await file.settled();
      const kept = readFileSync(path, "utf8");
      const state = new ControlState({ sequence: 5, hash: "other", entities: [] });
      state.apply(Array.from({ length: KEYS }, (_, n) => write(n + 6, n)));
      file.replace(state);
      let [isDone, others] = [false, 0];
      void file.settled().then(() => {
        isDone = true;
      });
      for (let n = 0; !isDone && n < KEYS; n++) {
        const changes = [write(state.sequence + 1, n)];
        state.apply(changes);
        file.append(changes, state);
        if (readFileSync(path, "utf8") !== kept) others++;
        else expect(others).toBe(0);
        await turn();
      }
      expect(sorted(new SnapshotFile(path).read(broken))).toEqual(sorted(state));
      expect(broken).not.toHaveBeenCalled();
    });
  });
});
