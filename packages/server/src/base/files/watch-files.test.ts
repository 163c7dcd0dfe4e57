import { renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { lookAt, lookAtNow, POLL_MS, watchFiles } from "./watch-files.js";

describe("watchFiles", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const pass = (looks: number) => vi.advanceTimersByTimeAsync(looks * POLL_MS);

  /** Files that look as the test says. */
  async function setUp(mark?: string) {
    const files = { mark: "as they were" };
    const onChange = vi.fn();
    const options = mark === undefined ? { onChange } : { mark, onChange };
    const stop = watchFiles(async () => files.mark, options);
    await pass(0);
    return { files, onChange, stop };
  }

  it("reports a change once, when the files are at rest", async () => {
    const { files, onChange } = await setUp();
    await pass(5);
    expect(onChange).toHaveBeenCalledTimes(0);
    files.mark = "changed";
    await pass(1);
    expect(onChange).toHaveBeenCalledTimes(0);
    await pass(1);
    expect(onChange).toHaveBeenCalledTimes(1);
    await pass(5);
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  it("never reports files that change from look to look", async () => {
    const { files, onChange } = await setUp();
    for (let i = 0; i < 10; i++) {
      files.mark = `written up to ${i}`;
      await pass(1);
    }
    expect(onChange).toHaveBeenCalledTimes(0);
  });

  it("reports nothing about files that are as they were before they changed", async () => {
    const { files, onChange } = await setUp();
    files.mark = "changed";
    await pass(1);
    files.mark = "as they were";
    await pass(5);
    expect(onChange).toHaveBeenCalledTimes(0);
  });

  it("reports what changed between the reading and the first look", async () => {
    const { onChange } = await setUp("as they were when they were read");
    await pass(2);
    expect(onChange).toHaveBeenCalledTimes(1);
  });

  it("waits for a change to be dealt with before it looks again", async () => {
    const { files, onChange } = await setUp();
    let end = () => {};
    onChange.mockImplementation(
      () =>
        new Promise<void>((resolve) => {
          end = resolve;
        }),
    );
    files.mark = "changed";
    await pass(2);
    files.mark = "changed again";
    await pass(10);
    expect(onChange).toHaveBeenCalledTimes(1);
    end();
    await pass(2);
    expect(onChange).toHaveBeenCalledTimes(2);
  });

  it("reports nothing once it is stopped, not even from a look that was under way", async () => {
    let look = (_: string) => {};
    const onChange = vi.fn();
    const looking = () =>
      new Promise<string>((resolve) => {
        look = resolve;
      });
    const stop = watchFiles(looking, { mark: "before", onChange });
    await pass(1);
    look("after");
    await pass(1);
    stop();
    look("after");
    await pass(5);
    expect(onChange).toHaveBeenCalledTimes(0);
  });
});

describe("lookAt", () => {
  const folder = makeFolder("watch");
  const [one, other] = [join(folder, "one.yaml"), join(folder, "other.yaml")];
  beforeEach(() => {
    for (const file of [one, other]) {
      rmSync(file, { force: true });
      writeFileSync(file, "text");
      utimesSync(file, 1, 1);
    }
  });
  afterEach(() => rmSync(join(folder, "new"), { force: true }));

  it("says the same of files that do not change, immediately and later", async () => {
    const files = [one, other, join(folder, "gone.yaml")];
    const before = lookAtNow(files);
    expect(await lookAt(files)).toBe(before);
    expect(await lookAt(files)).toBe(before);
  });

  it.each([
    ["is written", () => writeFileSync(other, "text")],
    ["is written within the same millisecond", () => appendQuickly(other)],
    ["is gone", () => unlinkSync(other)],
    ["is replaced by another of the same length and time", () => replace(other)],
    ["becomes a link to another", () => link(other, one)],
  ])("says something else when one %s", async (_, change) => {
    const before = await lookAt([one, other]);
    change();
    expect(await lookAt([one, other])).not.toBe(before);
  });

  function appendQuickly(file: string): void {
    writeFileSync(file, "text that is longer");
    utimesSync(file, 1, 1);
  }

  function replace(file: string): void {
    const next = join(folder, "new");
    writeFileSync(next, "else");
    utimesSync(next, 1, 1);
    renameSync(next, file);
  }

  function link(file: string, to: string): void {
    unlinkSync(file);
    symlinkSync(to, file);
  }
});
