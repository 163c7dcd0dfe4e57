// A service in this process, with a gateway in front of an upstream: what tests of its life stand on.

import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import type { Config } from "../../src/config/config.js";
import { toConfig } from "../../src/config/load.js";
import { silentTelemetry } from "../../src/telemetry/silent-telemetry.js";
import type { Telemetry } from "../../src/telemetry/telemetry.js";

/** A configuration with a gateway in front of `backend`, and the rest as a file without it has. */
export function toGatewayConfig(backend: string, rules: object, extra: object = {}): Config {
  return toConfig({
    gateway: { listen: "127.0.0.1:0" },
    admin: { listen: "127.0.0.1:0" },
    upstreams: { app: { backends: [backend] } },
    routes: [{ path: "/*", upstream: "app" }],
    telemetry: { logLevel: "silent", decisionLogShare: 0 },
    rules,
    ...extra,
  });
}

/** A file of rules with one limit for all callers. */
export class RulesFile {
  readonly path = join(makeFolder("server"), "rules.yaml");

  constructor(limit: number) {
    this.say(limit);
  }

  /** Writes a limit of this many in an hour from the first request, so that no window ends during a test. */
  say(limit: number): void {
    const text = `fixedWindow: { limit: ${limit}, windowMs: 3600000, align: first }`;
    this.write(`version: 1\nrules:\n  - id: everybody\n    key: global\n    limit: { ${text} }\n`);
  }

  /** Writes whatever it is given; readers see it immediately. */
  write(text: string): void {
    writeFileSync(`${this.path}.new`, text);
    renameSync(`${this.path}.new`, this.path);
  }
}

/** Quiet telemetry that remembers what was reloaded, and what was wrong with it. */
export function reloadsSeen(): { telemetry: Telemetry; reloads: [string, string | undefined][] } {
  const reloads: [string, string | undefined][] = [];
  const telemetry = silentTelemetry();
  telemetry.reloaded = (what, error) => {
    reloads.push([what, error === undefined ? undefined : String(error)]);
  };
  return { telemetry, reloads };
}
