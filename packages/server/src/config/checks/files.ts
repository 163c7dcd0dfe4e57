// Checks the files that a configuration names: that they exist, can be read and hold what they should. Problems
// are reported at the start or by `sluice serve --check`, not by the first request.

import { accessSync, constants, readFileSync } from "node:fs";
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

const READ_FAILURES: Readonly<Record<string, string>> = {
  EACCES: "this user may not read it",
  EISDIR: "it is a folder, not a file",
  ENOTDIR: "a part of its path is not a folder",
};
