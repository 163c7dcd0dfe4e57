// The numbers of all algorithms in one table.

import { formatBytes, formatCount, formatDuration } from "../../../ui/formats/format.js";
import { Card } from "../../../ui/page/page.js";
import { type Column, Table } from "../../../ui/tables/table.js";
import { NAMES } from "../model/algorithms.js";
import type { AlgorithmResult, Results } from "../model/results.js";
import { lengthOf } from "../model/sentences.js";

/** The table. */
export function Summary({ results }: { readonly results: Results }) {
  const { windowMs } = results.settings;
  const columns: readonly Column<AlgorithmResult>[] = [
    { name: "Algorithm", cell: ({ run }) => NAMES[run.algorithm] },
    { name: "Admitted", isNumber: true, cell: ({ findings }) => formatCount(findings.admitted) },
    { name: "Delayed", isNumber: true, cell: ({ findings }) => formatCount(findings.delayed) },
    { name: "Refused", isNumber: true, cell: ({ findings }) => formatCount(findings.refused) },
    {
      name: `Worst ${lengthOf(windowMs)}`,
      isNumber: true,
      cell: ({ findings }) => `${formatCount(findings.worst?.units ?? 0)} units`,
    },
    {
      name: "p99 wait",
      isNumber: true,
      cell: ({ findings }) => formatDuration(findings.waitMsP99),
    },
    { name: "Fairness", isNumber: true, cell: ({ findings }) => sayFairness(findings.fairness) },
    {
      name: "Memory per key",
      isNumber: true,
      cell: ({ memory }) => formatBytes(memory.bytes),
    },
  ];
  return (
    <Card title="Summary" isWide>
      <p class="note playground-summary-note">
        The worst {lengthOf(windowMs)} is the interval of that length in which one key was admitted
        the most. The wait counts from a client's first try. Fairness is Jain's index: 100% if all
        clients got the same.
      </p>
      <Table
        label="Summary"
        columns={columns}
        rows={results.algorithms}
        keyOf={({ run }) => run.algorithm}
      />
    </Card>
  );
}

function sayFairness(fairness: number | undefined): string {
  return fairness === undefined ? "–" : `${Math.round(100 * fairness)}%`;
}
