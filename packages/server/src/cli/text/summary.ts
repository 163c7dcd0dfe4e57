// What `sluice serve` says once it runs: lines for people on a terminal, and the same in the log elsewhere.

import { readVersion } from "../../base/version.js";
import type { Service } from "../../service/service.js";
import { formatTable } from "./table.js";

/**
 * The lines on a terminal: version, configuration, listeners, rules, and the store with its state.
 *
 * @param file - Of the configuration.
 */
export function formatSummary({ listeners, core }: Service, file: string): string[] {
  const { rules, version } = core.policy.rules;
  const { homeReach, ledgerReach } = core;
  const isDurable = rules.some(({ durable }) => durable !== undefined);
  const rows = [
    ["configuration", file],
    ...listeners.map(({ name, url, httpUrl }) => [name, [url, httpUrl].filter(Boolean).join("  ")]),
    ["rules", `${rules.length} (version ${version})`],
    ["store", core.storeReach.problem() ?? core.storeReach.name],
    ...(homeReach === undefined ? [] : [["home region", homeReach.problem() ?? homeReach.name]]),
    ...(isDurable ? [["ledger", ledgerReach?.problem() ?? ledgerReach?.name ?? ""]] : []),
  ];
  return [
    `Sluice ${readVersion()}`,
    ...formatTable(rows).map((line) => `  ${line}`),
    "Ctrl-C drains and stops it.",
  ];
}

/** The same as lines of the log. */
export function logSummary({ listeners, core }: Service, file: string): void {
  const { log } = core.telemetry;
  for (const { name, url, httpUrl } of listeners)
    log.info({ listener: name, url, httpUrl }, "listening");
  const store = core.storeReach.problem() ?? core.storeReach.name;
  const rules = core.policy.rules.rules.length;
  log.info({ version: readVersion(), config: file, rules, store }, "started");
}
