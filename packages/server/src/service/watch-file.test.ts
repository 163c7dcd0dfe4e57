import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { CancelTimer } from "../clock.js";
import { watchFile } from "./watch-file.js";

const POLL_MS = 1_000;
const folder = mkdtempSync(join(tmpdir(), "sluice-watch-"));
const file = join(folder, "sluice.yaml");
let changes = 0;
let stop: CancelTimer;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  writeFileSync(file, "before");
  changes = 0;
  stop = watchFile(file, { pollMs: POLL_MS, onChange: () => changes++ });
});
afterEach(() => {
  stop();
  vi.useRealTimers();
  rmSync(file, { force: true });
});

describe("watchFile", () => {
  it("tells a change once, when the file is at rest", () => {
    vi.advanceTimersByTime(5 * POLL_MS);
    expect(changes).toBe(0);
    writeFileSync(file, "afterwards");
    vi.advanceTimersByTime(POLL_MS);
    expect(changes).toBe(0);
    vi.advanceTimersByTime(5 * POLL_MS);
    expect(changes).toBe(1);
  });

  it("tells that a file is back, also if it is the very same one", () => {
    const away = join(folder, "away.yaml");
    renameSync(file, away);
    vi.advanceTimersByTime(5 * POLL_MS);
    expect(changes).toBe(0);
    renameSync(away, file);
    vi.advanceTimersByTime(5 * POLL_MS);
    expect(changes).toBe(1);
  });
});
