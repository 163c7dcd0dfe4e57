// The configuration of nodes in tests: a control plane in a folder of its own.

import { join } from "node:path";
import { makeFolder } from "sluice-test-servers";
import type { Config, DatabaseControlConfig } from "../../src/config/config.js";
import { toTestConfig } from "../test-config.js";

/** Of the configuration. */
export const ADMIN_TOKEN = "an-admin-token-of-16";

/** A control node over this database, with a snapshot in a new folder. */
export function toControlConfig(
  database: string,
  changes: Partial<DatabaseControlConfig> = {},
): DatabaseControlConfig {
  return {
    kind: "database",
    database,
    snapshotFile: join(makeFolder("control"), "node.snapshot"),
    staleMsMax: undefined,
    node: "node-1",
    hasRules: true,
    ...changes,
  };
}

/** A service that is a control node over this database. */
export function toControlService(database: string, changes: Partial<Config> = {}): Config {
  return toTestConfig({
    control: toControlConfig(database),
    admin: { listen: { host: "127.0.0.1", port: 0 }, token: ADMIN_TOKEN },
    ...changes,
  });
}
