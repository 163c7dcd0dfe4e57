// Followers as processes: many take a publish in time, none is left with half a snapshot, and a thousand of them cost the
// control node's own work little.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { makeFolder } from "sluice-test-servers";
import { afterEach, expect, it, vi } from "vitest";
import { pause, readMs } from "../../src/base/clock.js";
import { Changes } from "../../src/control/changes/changes.js";
import { type ControlNode, openControlNode } from "../../src/control/control-node.js";
import { SnapshotFile } from "../../src/control/state/snapshot-file.js";
import { openDatabase } from "../../src/database/open-database.js";
import { silentTelemetry } from "../../src/telemetry/silent-telemetry.js";
import { toControlConfig } from "./control-config.js";
import { FEED_TOKEN, listenToFollowers } from "./feed-listener.js";

const PROCESSES = 8;
const CROWD = 1_000;

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

let ids = 0;
const by = () => ({ id: `change-${++ids}`, actor: "anna", origin: "local", reason: "a test" });

async function startControl(): Promise<{
  node: ControlNode;
  url: string;
  port: number;
  database: string;
}> {
  const database = `file:${join(makeFolder("control"), "sluice.db")}`;
  const node = await openControlNode(toControlConfig(database, { hasRules: false }), {
    telemetry: silentTelemetry(),
    rules: undefined,
    onFirstToken: undefined,
  });
  closing.push(() => node.close());
  if (node.feedServer === undefined) throw new Error("it has no feed");
  const { url, port, close } = await listenToFollowers(node.feedServer);
  closing.push(close);
  return { node, url, port, database };
}

/** Differs when a snapshot is being written, or has been. */
function markOf(file: string): string {
  const marks = readdirSync(dirname(file)).map((name) => {
    const stats = statSync(join(dirname(file), name), { throwIfNoEntry: false });
    return `${name} ${stats?.mtimeMs} ${stats?.size}`;
  });
  return marks.join();
}

/** Starts a program of this folder; `lines` has what it has written. */
function start(program: string, args: readonly string[]): { child: ChildProcess; lines: string[] } {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const child = spawn(process.execPath, [file, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  if (child.stdout !== null) createInterface(child.stdout).on("line", (line) => lines.push(line));
  closing.push(() => child.kill("SIGKILL"));
  return { child, lines };
}

function startFollower(url: string, name: string, snapshotFile: string) {
  return start("follower-process.mjs", [url, FEED_TOKEN, snapshotFile, name]);
}

async function publish({ plane }: ControlNode, id: string): Promise<void> {
  const text = `version: 1\nrules: [{ id: ${id}, key: ip, limit: 5/minute }]\n`;
  const draft = await plane?.ruleSets.createDraft(by(), text);
  const expected = (await plane?.ruleSets.published())?.number ?? 0;
  await plane?.ruleSets.publish(by(), { number: draft?.number ?? 0, note: "", expected });
}

it(`${PROCESSES} follower processes enforce a publish within two seconds`, async () => {
  const { node, url } = await startControl();
  await publish(node, "first");
  const folder = makeFolder("followers");
  const followers = Array.from({ length: PROCESSES }, (_, n) =>
    startFollower(url, `edge-${n}`, join(folder, `${n}.snapshot`)),
  );
  const haveRule = (id: string) =>
    followers.filter(({ lines }) => lines.at(-1)?.includes(`"${id}"`)).length;
  await vi.waitFor(() => expect(haveRule("first")).toBe(PROCESSES), 30_000);
  const startMs = readMs();
  await publish(node, "second");
  await vi.waitFor(() => expect(haveRule("second")).toBe(PROCESSES), {
    timeout: 5_000,
    interval: 5,
  });
  expect(readMs() - startMs).toBeLessThan(2_000);
}, 60_000);

it("a follower that is killed at any point has a whole snapshot, or the one before, when it starts again", async () => {
  const { node, url, database } = await startControl();
  const other = openDatabase(database, "/");
  closing.push(() => other.close());
  const tenants = Array.from({ length: 10_000 }, (_, n) => ({
    action: "create",
    kind: "tenant" as const,
    id: `t${n}`,
    body: { name: `Tenant ${n}`, attributes: { region: "eu" }, status: "active" },
  }));
  await new Changes(other).apply(by(), () => tenants);
  await node.catchUp();
  const snapshotFile = join(makeFolder("follower"), "edge.snapshot");
  let isOver = false;
  const changing = (async () => {
    for (let n = 0; !isOver; n++) {
      await node.plane?.plans.put(by(), { id: "p", input: { tier: `tier-${n}` } });
      await pause(2);
    }
  })();
  const seen: number[] = [];
  for (let round = 0; round < 10; round++) {
    // Every other one writes a snapshot from the beginning, the others append to what they find.
    if (round % 2 === 0) rmSync(snapshotFile, { force: true });
    const found = new SnapshotFile(snapshotFile).read(() => {})?.sequence ?? tenants.length;
    const before = markOf(snapshotFile);
    const { child } = startFollower(url, "edge", snapshotFile);
    // From the first sign that it writes, a little later each time; the last ones when the file has its name.
    const isNamed = () => round < 6 || existsSync(snapshotFile);
    while (markOf(snapshotFile) === before || !isNamed()) await pause(1);
    await pause(3 * round);
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    const broken: string[] = [];
    const kept = new SnapshotFile(snapshotFile).read((why) => broken.push(why));
    expect(broken).toEqual([]);
    if (kept === undefined) continue;
    expect(kept.count("tenant")).toBe(10_000);
    expect(kept.sequence).toBeGreaterThanOrEqual(found);
    seen.push(kept.sequence);
  }
  isOver = true;
  await changing;
  expect(seen.length).toBeGreaterThan(3);
}, 60_000);

it(`${CROWD} followers and a publish a second hardly slow the control node's own decisions`, async () => {
  const control = start("crowded-process.mjs", [makeFolder("crowded"), FEED_TOKEN, String(CROWD)]);
  await vi.waitFor(() => expect(control.lines).toHaveLength(1), 60_000);
  const { alone, port } = JSON.parse(control.lines[0] ?? "");
  start("crowd-process.mjs", [String(port), FEED_TOKEN, String(CROWD)]);
  await vi.waitFor(() => expect(control.lines).toHaveLength(2), 60_000);
  const { crowded, followers } = JSON.parse(control.lines[1] ?? "");
  expect(followers).toBe(CROWD);
  // About 0.9 on a machine with nothing else to do.
  expect(crowded / alone).toBeGreaterThan(0.6);
}, 150_000);

it(`${CROWD} followers get every change within two seconds, and the event loop is never held up for long`, async () => {
  const { node, port } = await startControl();
  const { lines } = start("crowd-process.mjs", [String(port), FEED_TOKEN, String(CROWD)]);
  await vi.waitFor(() => expect(lines).toContain("open"), 30_000);
  expect(node.feedServer?.streams.count).toBe(CROWD);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  for (let n = 0; n < 5; n++) {
    const startMs = readMs();
    await node.plane?.plans.put(by(), { id: "p", input: { tier: `tier-${n}` } });
    const sequence = String(node.state.sequence);
    await vi.waitFor(() => expect(lines).toContain(sequence), { timeout: 5_000, interval: 5 });
    expect(readMs() - startMs).toBeLessThan(2_000);
    await pause(200);
  }
  delay.disable();
  // Nanoseconds; a decision takes a few microseconds, and machines that run tests have other work.
  expect(delay.percentile(99) / 1e6).toBeLessThan(100);
}, 60_000);
