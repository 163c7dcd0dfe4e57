// docs/scale.md: what the simulator found, as tables and plots. `npm run sim -- all --write` writes it.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RunResult } from "../run.js";
import { scenarios } from "../scenarios.js";
import { percent, toMarkdown, toTable } from "../table.js";
import { type Costs, machinesNeededFor, readCosts, STORE_LOAD } from "./costs.js";
import { type Plot, toPlot } from "./plot.js";

/** The page and its plots, from the root of the repository. */
const PAGE = "docs/scale.md";
const CHARTS = "docs/scale";
const BENCHMARKS = "docs/benchmarks.md";

/** The load that the page answers for, and the scenario that stands for it. */
const DECISIONS_PER_SECOND = 50_000_000;
export const FLEET = "fleet";
/** The scenario whose links are shown one by one. */
const LINKS = "regions";

const FAULTS_SHOWN_MAX = 4;

/** Scenarios in which the course of time says more than a sum. */
const PLOTTED = [
  "flash-crowd",
  "hot-key",
  "partition",
  "store-restart",
  "rolling-deploy",
  "region-partition",
  "regions-flash-crowd",
  "regions-store-restart",
];

/** Writes the page and its plots. The results are those of one seed, of every scenario. */
export function writeScalePage(results: readonly RunResult[], root: string): void {
  const costs = readCosts(readFileSync(join(root, BENCHMARKS), "utf8"));
  mkdirSync(join(root, CHARTS), { recursive: true });
  for (const name of PLOTTED)
    writeFileSync(join(root, CHARTS, `${name}.svg`), toPlot(plotOf(results, name)));
  writeFileSync(join(root, PAGE), toPage(results, costs));
}

/** What comes after the needs of the load. */
const AFTER_NEEDS = "## When things go wrong";

/** Writes only what the load needs: the results are those of {@link FLEET}, and the costs may be new. */
export function writeNeeds(results: readonly RunResult[], root: string): void {
  const costs = readCosts(readFileSync(join(root, BENCHMARKS), "utf8"));
  const before = readFileSync(join(root, PAGE), "utf8");
  const [needs] = toPage(results, costs).split(AFTER_NEEDS);
  writeFileSync(join(root, PAGE), needs + before.slice(before.indexOf(AFTER_NEEDS)));
}

/** The page in Markdown. */
export function toPage(results: readonly RunResult[], costs: Costs): string {
  return `# What Sluice does at scale

<!-- Written by \`npm run sim -- all --write\`. -->

What would 50 million decisions a second need, and how wrong would they be?

${toAnswer(results, costs)}

${toNeedsTable(results, costs)}

*Above the limit* is the most by which any caller exceeded its limit at any instant, as a share of the limit. *Refused early*
are requests that were refused although one exact counter would have admitted them, as a share of all decisions. Processors
are those of the limiter alone: a gateway or a service around it needs its own.

No test machine makes so many decisions. These figures are those of a [simulator](../sim/README.md), which runs the
library's own code (limiters, leases, eventual counters, deny caches, circuit breakers, policies with regions) on simulated
clocks, networks and crashes, beside a counter that sees every decision. The scenario is \`${FLEET}\`
(${aboutOf(FLEET)}), scaled up. The costs of its operations were measured by the [benchmarks](benchmarks.md): one processor makes
${rate(costs.inProcessPerSecond)} decisions a second out of leases (\`redis/leased\`) and ${rate(costs.askedPerSecond)} if each of them asks Redis
(\`redis/strict\`), and Redis spends ${costs.redisUs} µs on one (\`redis/cpu\`). A store is busy for at most ${STORE_LOAD * 100}% of its time.

${AFTER_NEEDS}

The worst that any scenario below found, among them partitions, lost messages, crashes, wrong clocks and a store that lost
its data:

${toWorstTable(results)}

Most of what is refused early in one region is refused while the store can't be reached, because these rules have
\`onStoreFailure: closed\`. With \`split\`, a caller that stays in one region gets only that region's share.

## Scenarios

Every run can be repeated from its seed: \`npm run sim -- partition --consistency leased --seed 1\`. In this table the seed is
${results[0].seed}. *Promised* is the bound that every run is checked against; a dash means that nothing is promised. *Fairness* is
Jain's index of what callers got of what they were entitled to: 1 means equal shares for all. *Recovered after* is how
long it takes after the last fault until every second admits at least 95% of what the same run admits without the faults:
*not yet* if that takes longer than the run. *Across* is how [regions](guides/regions.md) agree, in scenarios with three of
them. A round trip between the first region and another takes 80 ms, except where the scenario says otherwise.

${toTable(results)}

Three kinds of runs have *not yet* recovered at their end:

- \`partition\` under \`eventual\`: processes admitted up to a limit each while they counted alone. Afterwards these admissions
  are counted, and a bucket far above its limit admits nothing until it has refilled. This takes longer than the run.
- \`region-partition\` with learned shares: the regions have learned other shares than in the run without the fault. Together
  they admit 95 to 99% of what they admit there, and one second below 95% counts as *not yet*.
- \`regions-store-restart\` with learned shares: the home region's store has lost the plan. The home region keeps to a tenth
  of its share until every region has reported and its counters have forgotten what they held; then shares move again, a
  step every few seconds ([learned shares](guides/regions.md#learned-shares)). The ten seconds that are left are too few.

${PLOTTED.map((name) => `![${aboutOf(name)}](scale/${name}.svg)`).join("\n\n")}

Dotted lines mark faults and their ends. In plots of regions, rules are strict.

## Bytes over each link

The scenario \`${LINKS}\`, in kilobytes a second: between processes and the store of their region, and between two regions.
\`npm run sim -- SCENARIO --json\` prints the same for every run.

${toLinksTable(results)}

## Which agreements run

A scenario of one region runs under every \`consistency\`. One with regions runs under every \`across\`, and under \`split\` also
with learned shares, each with \`strict\` and \`leased\`. \`eventual\` and \`local\` are refused with any \`across\` but \`each\`,
because they don't count in a region's store before they admit; with \`each\` they behave in each region as they do in one.
\`home-lost\` runs only where there is a home region that decides: \`central\` and \`leased\`.

## Scenarios in words

${scenarios.map(({ name, about }) => `- \`${name}\`: ${about}.`).join("\n")}
`;
}

/** The answer in a few sentences. */
function toAnswer(results: readonly RunResult[], costs: Costs): string {
  const answers = results
    .filter(({ scenario }) => scenario === FLEET)
    .filter(({ consistency }) => consistency === "leased" || consistency === "strict")
    .map((result) => {
      const { processors, stores } = machinesNeededFor(result, costs, DECISIONS_PER_SECOND);
      const servers = stores === 1 ? "server" : "servers";
      const machines = `**${rate(processors)} processors and ${rate(stores)} Redis ${servers}**`;
      const { overshoot, early } = result;
      const above =
        overshoot === 0
          ? "no caller exceeds its limit"
          : `callers exceed their limits by at most ${percent(overshoot)}`;
      const refused =
        early === 0
          ? "no request is refused early"
          : `${percent(early)} of requests are refused early`;
      return `- \`consistency: ${result.consistency}\` needs ${machines}; ${above}, and ${refused}.`;
    });
  return answers.join("\n");
}

/** For each agreement, the worst of all scenarios, and which one it was. */
function toWorstTable(results: readonly RunResult[]): string {
  const byAgreement = new Map<string, RunResult[]>();
  for (const result of results) {
    const where = result.across === undefined ? "one region" : `across ${result.across}`;
    const agreement = `${result.consistency}, ${where}`;
    byAgreement.set(agreement, [...(byAgreement.get(agreement) ?? []), result]);
  }
  const worst = (runs: readonly RunResult[], read: (result: RunResult) => number) => {
    const most = runs.reduce((a, b) => (read(b) > read(a) ? b : a));
    return read(most) === 0 ? "0%" : `${percent(read(most))} (${most.scenario})`;
  };
  const rows = [...byAgreement].map(([agreement, runs]) => [
    agreement,
    worst(runs, ({ overshoot }) => overshoot),
    worst(runs, ({ early }) => early),
  ]);
  return toMarkdown([["agreement", "most above the limit", "most refused early"], ...rows], 1);
}

function toNeedsTable(results: readonly RunResult[], costs: Costs): string {
  const rows = results
    .filter(({ scenario }) => scenario === FLEET)
    .map((result) => {
      const needs = machinesNeededFor(result, costs, DECISIONS_PER_SECOND);
      const network = needs.gigabitsPerSecond;
      return [
        result.consistency,
        rate(needs.processors),
        rate(needs.stores),
        `${network < 10 ? network.toFixed(1) : rate(network)} Gbit/s`,
        percent(result.overshoot),
        percent(result.early),
      ];
    });
  const head = [
    "consistency",
    "processors",
    "stores",
    "network",
    "above the limit",
    "refused early",
  ];
  return toMarkdown([head, ...rows], 1);
}

/** A line for each consistency; with regions, for each `across` of strict rules. */
function plotOf(results: readonly RunResult[], name: string): Plot {
  const runs = results
    .filter(({ scenario }) => scenario === name)
    .filter(({ across, consistency }) => across === undefined || consistency === "strict");
  const [{ faultsAtMs }] = runs;
  return {
    title: aboutOf(name),
    lines: runs.map(({ consistency, across, timeline }) => ({
      label: across ?? consistency,
      timeline,
    })),
    // More of them would hide what they do.
    faultsAtMs: faultsAtMs.length > FAULTS_SHOWN_MAX ? [] : faultsAtMs,
  };
}

/** What went over each link in the scenario with regions and no fault. */
function toLinksTable(results: readonly RunResult[]): string {
  const runs = results.filter(({ scenario }) => scenario === LINKS);
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.linkBytesPerSecond)))].sort(
    (a, b) => a.length - b.length,
  );
  const rows = runs.map(({ across, consistency, linkBytesPerSecond: bytes }) => [
    across ?? "",
    consistency,
    ...names.map((name) => ((bytes[name] ?? 0) / 1_000).toFixed(1)),
  ]);
  return toMarkdown([["across", "consistency", ...names], ...rows], 2);
}

function aboutOf(name: string): string {
  const found = scenarios.find((scenario) => scenario.name === name);
  if (found === undefined) throw new RangeError(`unknown scenario ${JSON.stringify(name)}`);
  return found.about;
}

function rate(value: number): string {
  return Math.round(value).toLocaleString("en");
}
