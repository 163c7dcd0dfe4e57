// A report of `sluice replay`, opened from a file: by a button or dropped. The file stays in the page.

import { useId, useState } from "preact/hooks";
import { Sparkline } from "../../../ui/charts/sparkline.js";
import { formatCount, formatShare } from "../../../ui/formats/format.js";
import { Time } from "../../../ui/formats/time.js";
import { type Column, Table } from "../../../ui/tables/table.js";
import { escapeUnseen, KeyText } from "../../../ui/text/key-text.js";
import {
  REPORT_BYTES_MAX,
  readReport,
  type ShownReport,
  type ShownRow,
} from "../model/read-report.js";

type Opened = { readonly report: ShownReport } | { readonly problem: string };

/** The field for a file, and the report that was opened. */
export function ReplayReportBox() {
  const id = useId();
  const [opened, setOpened] = useState<Opened>();
  const open = async (file: File | undefined) => {
    if (file !== undefined) setOpened(await openFile(file));
  };
  return (
    <section
      class="card playground-report"
      aria-label="Replay report"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void open(event.dataTransfer?.files[0]);
      }}
    >
      <h2>Replay report</h2>
      <div class="field">
        <label for={id}>Open a report of an access log</label>
        <input
          id={id}
          type="file"
          accept=".json,application/json"
          aria-describedby={`${id}-note`}
          onChange={({ currentTarget }) => void open(currentTarget.files?.[0])}
        />
        <p id={`${id}-note`} class="hint">
          Made by <code>sluice replay access.log --rules rules.yaml --json</code>. Drop it here,
          too. It stays in this page.
        </p>
      </div>
      {opened !== undefined && "problem" in opened && (
        <p class="notice" role="alert">
          {opened.problem}
        </p>
      )}
      {opened !== undefined && "report" in opened && <Report report={opened.report} />}
    </section>
  );
}

async function openFile(file: File): Promise<Opened> {
  if (file.size > REPORT_BYTES_MAX) return { problem: "The file is too large to be a report." };
  try {
    return { report: readReport(await file.text()) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function Report({ report }: { readonly report: ShownReport }) {
  const { rules, against, requests, refused, refusedBefore, callers, callersRefused } = report;
  const shareOf = (part: number, whole: number) => formatShare(whole === 0 ? 0 : part / whole);
  return (
    <>
      <p>
        <b>{escapeUnseen(rules)}</b> would have refused {formatCount(refused)} of{" "}
        {formatCount(requests)} requests ({shareOf(refused, requests)}), of{" "}
        {formatCount(callersRefused)} of {formatCount(callers)} callers.
        {against !== undefined &&
          ` ${escapeUnseen(against)}: ${formatCount(refusedBefore ?? 0)} requests.`}
      </p>
      <p>
        Requests <Sparkline values={report.traffic} label="Requests over time" /> refused{" "}
        <Sparkline values={report.refusals} label="Refusals over time" kind="refused" />
      </p>
      <Table
        label="Rules of the report"
        columns={columnsOf("Rule", report)}
        rows={report.byRule}
        keyOf={({ name }) => name}
      />
      <Table
        label="Keys of the report"
        columns={columnsOf("Key", report)}
        rows={report.byKey}
        keyOf={({ name, rule }) => `${rule} ${name}`}
        empty="No key was refused."
      />
      {report.notes.length > 0 && (
        <ul>
          {report.notes.map((note) => (
            <li key={note}>{escapeUnseen(note)}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function columnsOf(name: "Rule" | "Key", { against }: ShownReport): readonly Column<ShownRow>[] {
  const before: Column<ShownRow> = {
    name: "Before",
    isNumber: true,
    cell: ({ refusedBefore }) => formatCount(refusedBefore ?? 0),
  };
  return [
    { name, cell: (row) => <KeyText value={row.name} /> },
    name === "Rule"
      ? { name: "Counted", isNumber: true, cell: ({ matched }) => formatCount(matched) }
      : { name: "Rule", cell: ({ rule }) => <KeyText value={rule} /> },
    { name: "Refused", isNumber: true, cell: ({ refused }) => formatCount(refused) },
    ...(against === undefined ? [] : [before]),
    {
      name: "First",
      cell: ({ firstMs }) => (firstMs === undefined ? "–" : <Time atMs={firstMs} />),
    },
    {
      name: "Over time",
      cell: ({ series, name: of }) => (
        <Sparkline
          values={series}
          label={`Refusals of ${escapeUnseen(of)} over time`}
          kind="refused"
        />
      ),
    },
  ];
}
