// Runs programs for the tests. What a failed program printed is the reason that a reader
// of the test report needs, so all of it goes into the error.

import { execFileSync } from "node:child_process";

/** Runs a program to its end and returns what it printed. */
export function run(program: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(program, args, { cwd, encoding: "utf8", stdio: "pipe" });
  } catch (failure) {
    const { stdout, stderr } = failure as { stdout?: string; stderr?: string };
    const printed = `${stdout ?? ""}${stderr ?? ""}` || String(failure);
    throw new Error(`${program} ${args.join(" ")} failed:\n${printed}`);
  }
}
