// Checks the files that a configuration names: that they exist, can be read and hold what they should. Problems
// are reported at the start or by `sluice serve --check`, not by the first request.

import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
} from "node:fs";
import { SluiceError } from "sluice";
import { readAddressList } from "sluice/rules";
import type { Path } from "sluice/shapes";
import { show } from "../../base/errors.js";
import { checkTlsContents, type TlsFiles } from "../../base/tls/tls-files.js";
import type { ConfigSections } from "../read-sections.js";
import type { ResolvePath } from "../to-config.js";

/** Checks the files of listeners. */
export function checkFiles(sections: ConfigSections, at: ResolvePath): void {
  checkGatewayTls(sections, at);
  checkUpstreamTls(sections, at);
  checkEnvoyTls(sections, at);
  checkEnvoyFiles(sections, at);
  checkControlCa(sections, at);
  checkWebhookCas(sections, at);
  checkLists(sections, at);
  checkMmdbFiles(sections, at);
}

/** Each list has to be readable as a whole, or callers would pass that should not. */
function checkLists({ values, problems, conceal }: ConfigSections, at: ResolvePath): void {
  for (const list of ["deny", "allow"] as const) {
    for (const [i, name] of (values.lists?.[list] ?? []).entries()) {
      const problem = problemOfList(name, at(name));
      if (problem !== undefined) problems.add(["lists", list, i], conceal(problem, "lists"));
    }
  }
}

function problemOfList(name: string, file: string): string | undefined {
  try {
    readAddressList([{ file: name, text: readFileSync(file, "utf8") }]);
    return undefined;
  } catch (error) {
    const isOfList = error instanceof SluiceError;
    return isOfList ? `can't be used: ${error.message}` : describeUnreadable(file, error);
  }
}

/** Of what is in them only that they are MMDB files: opening them says the rest. */
function checkMmdbFiles({ values, problems }: ConfigSections, at: ResolvePath): void {
  for (const [i, file] of (values.identity?.mmdb ?? []).entries()) {
    const path = ["identity", "mmdb", i];
    try {
      if (!isMmdb(at(file))) problems.add(path, `${show(at(file))} is not an MMDB file`);
    } catch (error) {
      problems.add(path, describeUnreadable(at(file), error));
    }
  }
}

function checkWebhookCas({ values, problems }: ConfigSections, at: ResolvePath): void {
  for (const [name, { url, caFile }] of Object.entries(values.ledger?.webhooks ?? {})) {
    if (caFile !== undefined && url.startsWith("https:"))
      checkTlsFiles(["ledger", "webhooks", name], { caFile }, at, problems);
  }
}

function checkControlCa({ values, problems }: ConfigSections, at: ResolvePath): void {
  const { caFile } = values.control ?? {};
  if (caFile !== undefined) checkTlsFiles(["control"], { caFile }, at, problems);
}

function checkGatewayTls({ values, problems }: ConfigSections, at: ResolvePath): void {
  const tls = values.gateway?.tls;
  if (tls !== undefined) checkTlsFiles(["gateway", "tls"], tls, at, problems);
}

function checkUpstreamTls({ values, problems }: ConfigSections, at: ResolvePath): void {
  for (const [name, { backends, tls }] of Object.entries(values.upstreams ?? {})) {
    if (tls === undefined) continue;
    const path = ["upstreams", name, "tls"];
    if (!backends.some((url) => url.startsWith("https:"))) {
      problems.add(path, "needs https:// backends, but there are none");
    }
    const [one, other] = tls.certFile === undefined ? KEY_FIRST : CERT_FIRST;
    if (tls[one] !== undefined && tls[other] === undefined) {
      problems.add([...path, one], `needs ${other} too`);
    } else checkTlsFiles(path, tls, at, problems);
  }
}

function checkEnvoyTls({ values, problems }: ConfigSections, at: ResolvePath): void {
  const tls = values.envoy?.tls;
  if (tls !== undefined) checkTlsFiles(["envoy", "tls"], tls, at, problems);
}

const CERT_FIRST = ["certFile", "keyFile"] as const;
const KEY_FIRST = ["keyFile", "certFile"] as const;

/** Checks that files are there and fit together. */
function checkTlsFiles(
  path: Path,
  files: TlsFileValues,
  at: ResolvePath,
  problems: ConfigSections["problems"],
): void {
  const contents: { cert?: string; key?: string; ca?: string } = {};
  let isWhole = true;
  for (const [field, part] of TLS_PARTS) {
    const file = files[field];
    if (file === undefined) continue;
    const content = readNamed([...path, field], at(file), problems);
    if (content === undefined) isWhole = false;
    else contents[part] = content;
  }
  if (!isWhole) return;
  try {
    checkTlsContents(contents);
  } catch (error) {
    problems.add(path, `can't be used: ${(error as Error).message}`);
  }
}

/** Files of a listener or an upstream, as they are named in the configuration. */
type TlsFileValues = TlsFiles & { readonly clientCaFile?: string | undefined };

const TLS_PARTS = [
  ["certFile", "cert"],
  ["keyFile", "key"],
  ["caFile", "ca"],
  ["clientCaFile", "ca"],
] as const;

function checkEnvoyFiles({ values, problems }: ConfigSections, at: ResolvePath): void {
  for (const [i, file] of (values.envoy?.files ?? []).entries()) {
    try {
      accessSync(at(file), constants.R_OK);
    } catch (error) {
      problems.add(["envoy", "files", i], describeUnreadable(at(file), error));
    }
  }
}

/**
 * The text of a file that a value names; undefined, with a problem, if it can't be read.
 *
 * @param hint - What to do if there is no such file. Default: to correct the path.
 */
export function readNamed(
  path: Path,
  file: string,
  problems: ConfigSections["problems"],
  hint?: string,
): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    problems.add(path, describeUnreadable(file, error, hint));
    return undefined;
  }
}

function describeUnreadable(file: string, error: unknown, hint = "correct the path"): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return `${show(file)} was not found; ${hint}`;
  return `${show(file)} can't be read: ${READ_FAILURES[code ?? ""] ?? message}`;
}

/** What the metadata of an MMDB file begins with, in its last 128 KiB. */
const MMDB_MARK = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");
const METADATA_BYTES_MAX = 131_072;

function isMmdb(file: string): boolean {
  const opened = openSync(file, "r");
  try {
    const { size } = fstatSync(opened);
    const tail = Buffer.alloc(Math.min(size, METADATA_BYTES_MAX));
    readSync(opened, tail, 0, tail.length, size - tail.length);
    return tail.includes(MMDB_MARK);
  } finally {
    closeSync(opened);
  }
}

const READ_FAILURES: Readonly<Record<string, string>> = {
  EACCES: "this user may not read it",
  EISDIR: "it is a folder, not a file",
  ENOTDIR: "a part of its path is not a folder",
};
