// The state that a node keeps on disk, so that it starts without the control plane. First a snapshot, behind it the
// changes since then as they come: a change costs one short write, and a crash can cut off only the last line. When the
// changes grow too many, a new snapshot is written beside it while changes still go to this one, and renamed when it is
// whole, so that a reader always finds a whole one.

import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { wallMs } from "../../base/clock.js";
import { newSecret } from "../../telemetry/random.js";
import { parseSnapshot, toChangeLine } from "./snapshot-lines.js";
import { SnapshotWriting } from "./snapshot-writing.js";
import type { ControlState, NodeChange } from "./state.js";

/** Changes behind a snapshot before a new one is written, at least; or as many as it has entities. */
const CHANGES_MIN = 1_000;
/** Changes that may come while a snapshot is written, beyond which it is begun again. */
const CHANGES_MEANWHILE_MAX = 100_000;
/** A file that is gone is not begun with changes: they need the snapshot before them. */
const APPEND = constants.O_WRONLY | constants.O_APPEND;

/** What a snapshot that is being written ends with. */
const UNFINISHED = ".new";
/** A snapshot that no process has written to for this long was left by one that was killed. */
const LEFT_MS_MIN = 60_000;

/** The file of one node. */
export class SnapshotFile {
  readonly #path: string;
  /** Where a new snapshot is written; of this process only, since another one may be configured with the same file. */
  readonly unfinishedPath: string;
  readonly #onFailed: (error: unknown) => void;
  #changes = 0;
  #changesMax = CHANGES_MIN;
  /** Whether the file does not have all changes: what would be appended has a gap before it. */
  #isBehind = false;
  #writing: SnapshotWriting | undefined;
  /** Resolves when nothing is being written. */
  #settled: Promise<void> = Promise.resolve();

  /** @param onFailed - Called with what keeps a snapshot from being written. */
  constructor(path: string, onFailed: (error: unknown) => void = () => {}) {
    this.#path = path;
    this.unfinishedPath = `${path}.${newSecret().toString("hex", 0, 8)}${UNFINISHED}`;
    this.#onFailed = onFailed;
  }

  /**
   * The state that was kept.
   *
   * @returns Undefined if there is no file or, with `onBroken` called, if the file can't be used.
   */
  read(onBroken: (why: string) => void): ControlState | undefined {
    try {
      const { state, entities, changes, bytes, isCut } = parseSnapshot(
        readFileSync(this.#path, "utf8"),
      );
      // What was cut off would otherwise spoil the line that is appended next.
      if (isCut) truncateSync(this.#path, bytes);
      this.#changes = changes;
      this.#changesMax = Math.max(CHANGES_MIN, entities);
      return state;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT") onBroken(message);
      return undefined;
    }
  }

  /**
   * Removes what processes left that were killed while they wrote a snapshot. Where one was only stopped for that long,
   * its writing fails and is repeated.
   */
  removeLeftovers(): void {
    const folder = dirname(this.#path);
    const before = wallMs() - LEFT_MS_MIN;
    for (const name of namesIn(folder)) {
      if (!name.startsWith(`${basename(this.#path)}.`) || !name.endsWith(UNFINISHED)) continue;
      const path = join(folder, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats?.isFile() && stats.mtimeMs < before) rmSync(path, { force: true });
    }
  }

  /** Keeps a state as a whole, in place of another; only its user may read it. See {@link settled}. */
  replace(state: ControlState): void {
    this.#isBehind = true;
    this.#write(state);
  }

  /** Resolves once no snapshot is being written. Never rejects. */
  async settled(): Promise<void> {
    await this.#settled;
  }

  /** Marks what is kept as current now, by the time of the file. What could not be written before is written first. */
  touch(state: ControlState): void {
    if (this.#isBehind) {
      if (this.#writing === undefined) this.#write(state);
      return;
    }
    this.#isBehind = true;
    const seconds = wallMs() / 1_000;
    utimesSync(this.#path, seconds, seconds);
    this.#isBehind = false;
  }

  /** When what is kept was last known to be current, by the wall clock; undefined if there is no file. */
  get currentAtMs(): number | undefined {
    return statSync(this.#path, { throwIfNoEntry: false })?.mtimeMs;
  }

  /** Keeps changes; the state is that after them. Throws what the system says. */
  append(changes: readonly NodeChange[], state: ControlState): void {
    this.#writing?.add(changes);
    if (!this.#isBehind) this.#appendNow(changes);
    const isGrown = this.#isBehind || this.#changes > this.#changesMax;
    const isLate = (this.#writing?.changes ?? 0) > CHANGES_MEANWHILE_MAX;
    if (this.#writing === undefined ? isGrown : isLate) this.#write(state);
  }

  #appendNow(changes: readonly NodeChange[]): void {
    this.#isBehind = true;
    const file = openSync(this.#path, APPEND);
    try {
      writeFileSync(file, changes.map(toChangeLine).join(""));
    } finally {
      closeSync(file);
    }
    this.#isBehind = false;
    this.#changes += changes.length;
  }

  /** One at a time: one that is under way ends before the next begins. */
  #write(state: ControlState): void {
    this.#writing?.abandon();
    const writing = new SnapshotWriting(
      { path: this.#path, unfinishedPath: this.unfinishedPath },
      state,
    );
    this.#writing = writing;
    this.#settled = this.#settled.then(() => this.#run(writing));
  }

  async #run(writing: SnapshotWriting): Promise<void> {
    try {
      await writing.run(({ entities, changes }) => {
        this.#changes = changes;
        this.#changesMax = Math.max(CHANGES_MIN, entities);
        this.#isBehind = false;
        this.#writing = undefined;
      });
    } catch (error) {
      this.#onFailed(error);
    } finally {
      if (this.#writing === writing) this.#writing = undefined;
    }
  }
}

/** A folder that is not there has none. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
