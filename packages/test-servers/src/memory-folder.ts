// Where the files of a test run are: in memory if there is room. What tests write is small and short-lived, and a disk
// makes it slow: copying a database of PostgreSQL takes 130 ms of processor time on ext4, and 10 ms in memory.

import { accessSync, constants, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

/** Linux has it. In a container it often has 64 MB, which is too little. */
const FOLDER = "/dev/shm";
const FREE_BYTES_MIN = 4 * 2 ** 30;

/** What the choice depends on. Only tests of it replace any of this. */
export interface MemoryFolder {
  readonly path: string;
  /** What the folder may still take. Throws if there is none. */
  freeBytes(): number;
  /** What programs may still take without swapping, as Linux reports it. Throws elsewhere. */
  memoryInfo(): string;
  /** The file systems of the machine, as Linux lists them. */
  mounts(): string;
}

/**
 * The folder in memory that temporary folders of tests are made in, or the usual one for temporary files: where there
 * is none, it is small, memory is short, or programs in it may not run, which tests of packages do.
 */
export function chooseTemporaryFolder(memory: MemoryFolder = thisMachine): string {
  try {
    const isRoomy = memory.freeBytes() >= FREE_BYTES_MIN;
    const isFree = availableBytesIn(memory.memoryInfo()) >= FREE_BYTES_MIN;
    if (isRoomy && isFree && mayRun(memory)) return memory.path;
  } catch {
    // Another system, or no right to look: the usual folder serves as well, only slower.
  }
  return tmpdir();
}

function availableBytesIn(info: string): number {
  return 1024 * Number(/^MemAvailable:\s+(\d+) kB$/m.exec(info)?.[1]);
}

function mayRun({ path, mounts }: MemoryFolder): boolean {
  const options = mounts()
    .split("\n")
    .map((line) => line.split(" "))
    .findLast(([, folder]) => folder === path)?.[3];
  return options !== undefined && !options.split(",").includes("noexec");
}

const thisMachine: MemoryFolder = {
  path: FOLDER,
  freeBytes() {
    accessSync(FOLDER, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(FOLDER);
    return bavail * bsize;
  },
  memoryInfo: () => readFileSync("/proc/meminfo", "utf8"),
  mounts: () => readFileSync("/proc/mounts", "utf8"),
};
