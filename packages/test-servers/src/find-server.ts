// Finds the servers that tests start. A missing Redis is installed where that is possible and
// fails the run with the line that says how to get it where it is not: no test is skipped.

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";

/** What `ensureRedisServer` sees of the machine. Only tests of it replace any of this. */
export interface Machine {
  /** Path of the program, or undefined. */
  find(program: string): string | undefined;
  isDebian(): boolean;
  isRoot(): boolean;
  /** Runs a program to its end and returns whether it succeeded. */
  run(program: string, args: readonly string[]): boolean;
  /** Keeps packages from starting their services until the returned function is called. */
  holdServices(): () => void;
  /** Tells the person who runs the tests. */
  say(line: string): void;
}

/**
 * The path of redis-server. Where it is missing, it is installed (Debian as root, the system
 * service is not started); elsewhere this throws an error that says how to get it.
 */
export function ensureRedisServer(machine: Machine = thisMachine): string {
  const found = machine.find("redis-server");
  if (found !== undefined) return found;
  if (machine.isDebian() && machine.isRoot()) installRedis(machine);
  const installed = machine.find("redis-server");
  if (installed !== undefined) return installed;
  throw new Error("redis-server is not on the PATH; get it with: apt-get install redis-server");
}

/** The path of valkey-server, or undefined: Valkey is tested where it is installed. */
export function findValkeyServer(): string | undefined {
  return findProgram("valkey-server");
}

/** The path of a program on the PATH, or undefined. */
export function findProgram(program: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function installRedis(machine: Machine): void {
  machine.say("redis-server is missing: installing it with apt-get");
  const release = machine.holdServices();
  const install = ["install", "-y", "--no-install-recommends", ...lockOptions, "redis-server"];
  try {
    if (machine.run("apt-get", install)) return;
    // A fresh image has no package lists yet.
    machine.run("apt-get", ["update"]);
    machine.run("apt-get", install);
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
