// The files that a configuration names: that they are there, can be read, and hold what they should. What is
// wrong with them is told when the service starts, or by `sluice serve --check`, and not by the first request.

import { accessSync, constants, readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Path } from "../problems.js";
import type { Reading } from "../reading.js";
import type { ResolvePath } from "../to-config.js";

/** Checks the files of doors. */
export function checkFiles(reading: Reading, at: ResolvePath): void {
  checkTls(reading, at);
  checkEnvoyFiles(reading, at);
}

function checkTls({ values, problems }: Reading, at: ResolvePath): void {
  const tls = values.gateway?.tls;
  if (tls === undefined) return;
  const path = ["gateway", "tls"] as const;
  const cert = readNamed([...path, "certFile"], at(tls.certFile), problems);
  const key = readNamed([...path, "keyFile"], at(tls.keyFile), problems);
  if (cert === undefined || key === undefined) return;
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    problems.add(path, `can't be used: ${(error as Error).message}`);
  }
}

function checkEnvoyFiles({ values, problems }: Reading, at: ResolvePath): void {
  for (const [i, file] of (values.envoy?.files ?? []).entries()) {
    try {
      accessSync(at(file), constants.R_OK);
    } catch (error) {
      problems.add(["envoy", "files", i], `can't be read: ${(error as Error).message}`);
    }
  }
}

/** The text of a file that a value names; undefined, with a problem, if it can't be read. */
export function readNamed(
  path: Path,
  file: string,
  problems: Reading["problems"],
): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    problems.add(path, `can't be read: ${(error as Error).message}`);
    return undefined;
  }
}
