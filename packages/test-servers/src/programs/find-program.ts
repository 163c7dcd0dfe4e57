// Finds the programs that tests start. A missing one is installed where that is possible and fails the run
// with the line that says how to get it where it is not: no test is skipped.

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/** What `ensureProgram` sees of the machine. Only tests of it replace any of this. */
export interface Machine {
  /** Path of the program, or undefined. */
  find(program: string): string | undefined;
  isDebian(): boolean;
  isRoot(): boolean;
  /** Runs a program to its end and returns whether it succeeded. */
  run(program: string, args: readonly string[]): boolean;
  /** Keeps packages from starting their services until the returned function is called. */
  holdServices(): () => void;
  /** Says what to install to the person who runs the tests. */
  say(line: string): void;
}

/**
 * The path of a program. Where it is missing, its Debian package is installed (as root, and no system
 * service is started); elsewhere this throws an error that says how to get it.
 *
 * @param packageName - The Debian package. Default: of the same name.
 */
export function ensureProgram(
  program: string,
  packageName: string = program,
  machine: Machine = thisMachine,
): string {
  const found = machine.find(program);
  if (found !== undefined) return found;
  if (machine.isDebian() && machine.isRoot()) install(program, packageName, machine);
  const installed = machine.find(program);
  if (installed !== undefined) return installed;
  throw new Error(`${program} is not on the PATH; get it with: apt-get install ${packageName}`);
}

/** The path of a program on the PATH, or where servers are if that is not on it; undefined if nowhere. */
export function findProgram(program: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return [...folders, ...serverFolders()].map((folder) => join(folder, program)).find(isExecutable);
}

// Debian has nginx and haproxy in the first, which only root has on its PATH, and PostgreSQL in a folder for each
// version, the newest of which is taken.
function serverFolders(): string[] {
  const versions = existsSync(postgresFolder) ? readdirSync(postgresFolder) : [];
  const newestFirst = versions.sort((a, b) => Number(b) - Number(a));
  return ["/usr/sbin", ...newestFirst.map((version) => join(postgresFolder, version, "bin"))];
}

const postgresFolder = "/usr/lib/postgresql";

function install(program: string, packageName: string, machine: Machine): void {
  machine.say(`${program} is missing: installing it with apt-get`);
  const release = machine.holdServices();
  const args = ["install", "-y", "--no-install-recommends", ...lockOptions, packageName];
  try {
    if (machine.run("apt-get", args)) return;
    // A fresh image has no package lists yet.
    machine.run("apt-get", ["update"]);
    machine.run("apt-get", args);
  } finally {
    release();
  }
}

// Another test run on this machine may be installing at the same moment.
const lockOptions = ["-o", "DPkg::Lock::Timeout=120"];
const policyFile = "/usr/sbin/policy-rc.d";

const thisMachine: Machine = {
  find: findProgram,
  isDebian: () => existsSync("/etc/debian_version"),
  isRoot: () => process.getuid?.() === 0,
  run: (program, args) => {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    // The output of apt-get goes to stderr, so that what a benchmark prints stays clean.
    return spawnSync(program, args, { env, stdio: ["ignore", 2, 2] }).status === 0;
  },
  holdServices: () => {
    if (existsSync(policyFile)) return () => {};
    writeFileSync(policyFile, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
    return () => rmSync(policyFile, { force: true });
  },
  say: (line) => console.error(line),
};

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
