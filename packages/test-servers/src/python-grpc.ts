// Finds a Python with gRPC: a client of our gRPC services that shares no code with them. Debian's own one, since
// another Python on the PATH does not see Debian's packages. Installed where it is missing and can be.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Debian's own Python. */
const PYTHON = "/usr/bin/python3";
const PACKAGE = "python3-grpcio";
// Another test run on this machine may be installing at the same moment.
const INSTALL = [
  "install",
  "-y",
  "--no-install-recommends",
  "-o",
  "DPkg::Lock::Timeout=120",
  PACKAGE,
];

/**
 * The path of a Python that has the package `grpc`. Where it is missing it is installed (Debian as root);
 * elsewhere this throws an error that says how to get it.
 */
export function ensurePythonGrpc(): string {
  if (hasGrpc()) return PYTHON;
  if (existsSync("/etc/debian_version") && process.getuid?.() === 0) install();
  if (hasGrpc()) return PYTHON;
  throw new Error(`${PYTHON} has no package grpc; get it with: apt-get install ${PACKAGE}`);
}

function install(): void {
  console.error(`${PACKAGE} is missing: installing it with apt-get`);
  if (run("apt-get", INSTALL)) return;
  // A fresh image has no package lists yet.
  run("apt-get", ["update"]);
  run("apt-get", INSTALL);
}

function hasGrpc(): boolean {
  return spawnSync(PYTHON, ["-c", "import grpc"], { stdio: "ignore" }).status === 0;
}

function run(program: string, args: readonly string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  // The output of apt-get goes to stderr, so that what a benchmark prints stays clean.
  return spawnSync(program, args, { env, stdio: ["ignore", 2, 2] }).status === 0;
}
