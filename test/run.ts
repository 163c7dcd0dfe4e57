// Runs programs for the tests. What a failed program printed is the reason that a reader
// of the test report needs, so all of it goes into the error.

import { execFileSync } from "node:child_process";

/** Runs a program to its end and returns what it printed. `env` comes on top of our own. */
export function run(
  program: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): string {
  try {
    const options = { cwd, encoding: "utf8", stdio: "pipe" } as const;
    return execFileSync(program, args, { ...options, env: { ...process.env, ...env } });
  } catch (failure) {
    const { stdout, stderr } = failure as { stdout?: string; stderr?: string };
    const printed = `${stdout ?? ""}${stderr ?? ""}` || String(failure);
    throw new Error(`${program} ${args.join(" ")} failed:\n${printed}`);
  }
}
