// What the runs have shown, as a table for the guide: each algorithm beside a fixed limit that fits the whole backend, one
// that is far too high, and the best fixed limit, which is known only in hindsight.

import { ALGORITHMS } from "sluice/adaptive";
import { type Contender, type OverloadResult, runOverload } from "./overload-run.js";
import { type OverloadScenario, overloadScenarios } from "./overload-scenarios.js";

/** Fixed limits that are tried for the best one. */
export const FIXED_LIMITS: readonly number[] = [16, 20, 24, 32, 40, 48, 64, 96];
/** The fixed limit with which the whole backend does best, and one that an operator might set to be safe. */
export const FITTING_LIMIT = 48;
export const HIGH_LIMIT = 500;

/** The best fixed limit of a scenario: the one with the most goodput. */
export function bestFixed(scenario: OverloadScenario, seed: number): OverloadResult {
  const results = FIXED_LIMITS.map((limit) => runOverload(scenario, limit, seed));
  return results.reduce((best, each) => (each.goodputPerSec > best.goodputPerSec ? each : best));
}

/** One row of the table. */
interface Row extends OverloadResult {
  readonly label: string;
}

/** All rows of a scenario. */
export function toRows(scenario: OverloadScenario, seed: number): readonly Row[] {
  const rowOf = (label: string, contender: Contender) => ({
    label,
    ...runOverload(scenario, contender, seed),
  });
  const best = bestFixed(scenario, seed);
  return [
    { label: `fixed at ${best.contender}, the best in hindsight`, ...best },
    rowOf(`fixed at ${FITTING_LIMIT}`, FITTING_LIMIT),
    rowOf(`fixed at ${HIGH_LIMIT}`, HIGH_LIMIT),
    ...ALGORITHMS.map((algorithm) => rowOf(`\`${algorithm}\``, algorithm)),
  ];
}

/** The tables of all scenarios, in Markdown. */
export function toTables(seed: number): string {
  return overloadScenarios.map((scenario) => toTable(scenario, seed)).join("\n\n");
}

/** The table of one scenario. */
export function toTable(scenario: OverloadScenario, seed: number): string {
  const rows = toRows(scenario, seed).map(toLine);
  return `**${capitalise(scenario.about)}**\n\n${HEAD}\n${rows.join("\n")}`;
}

const HEAD =
  "| limit | goodput | p99 | shed | gave up | goodput after recovery |\n|---|---|---|---|---|---|";

function toLine({ label, ...result }: Row): string {
  const { goodputPerSec, p99Ms, shedShare, timedOutShare, recoveredPerSec } = result;
  const p99 = Number.isFinite(p99Ms) ? `${Math.round(p99Ms)} ms` : "none in time";
  const cells = [`${Math.round(goodputPerSec)}/s`, p99, toPercent(shedShare)];
  return `| ${label} | ${[...cells, toPercent(timedOutShare), `${Math.round(recoveredPerSec)}/s`].join(" | ")} |`;
}

function toPercent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function capitalise(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
