// Tasks that are asked for while they run, and files that change while nobody is told.

import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { oneAtATime } from "./one-at-a-time.js";
import { watchFile } from "./watch-file.js";

describe("oneAtATime", () => {
  it("joins all who ask during a run into the one after it", async () => {
    const ends: (() => void)[] = [];
    const run = oneAtATime(() => new Promise<void>((resolve) => ends.push(resolve)));
    const first = run();
    const [second, third] = [run(), run()];
    expect(ends).toHaveLength(1);
    ends[0]();
    await first;
    await expect.poll(() => ends.length).toBe(2);
    ends[1]();
    await Promise.all([second, third]);
    expect(ends).toHaveLength(2);
  });

  it("goes on after a run that failed", async () => {
    let runs = 0;
    const run = oneAtATime(async () => {
      runs++;
      if (runs === 1) throw new Error("bad file");
    });
    const [first, second] = [run(), run()];
    await expect(first).rejects.toThrow("bad file");
    await second;
    expect(runs).toBe(2);
  });
});

describe("watchFile", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function standOn() {
    const file = join(mkdtempSync(join(tmpdir(), "sluice-")), "sluice.yaml");
    writeFileSync(file, "one");
    const onChange = vi.fn();
    const stop = watchFile(file, { onChange });
    const look = () => vi.advanceTimersByTime(1_000);
    return { file, onChange, stop, look };
  }

  it("tells of a change once it is at rest, and once only", () => {
    const { file, onChange, look } = standOn();
    look();
    writeFileSync(file, "two two");
    look();
    expect(onChange).toHaveBeenCalledTimes(0);
    for (let i = 0; i < 3; i++) look();
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  it("sees one that was renamed into its place, and waits for one that is gone", () => {
    const { file, onChange, look, stop } = standOn();
    rmSync(file);
    for (let i = 0; i < 3; i++) look();
    expect(onChange).toHaveBeenCalledTimes(0);
    writeFileSync(`${file}.new`, "three");
    renameSync(`${file}.new`, file);
    for (let i = 0; i < 3; i++) look();
    expect(onChange).toHaveBeenCalledTimes(1);
    stop();
    writeFileSync(file, "four four");
    for (let i = 0; i < 3; i++) look();
    expect(onChange).toHaveBeenCalledTimes(1);
  });
});
