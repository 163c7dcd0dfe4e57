// The ledger of a tenant: every charge, grant and correction, with filters in the URL, and as a file.

import { useEffect, useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { useAnswer } from "../../api/use-answer.js";
import { wallMs } from "../../base/clock.js";
import { formatCount } from "../../ui/formats/format.js";
import { Time } from "../../ui/formats/time.js";
import { Button } from "../../ui/forms/button.js";
import { Field, Select } from "../../ui/forms/field.js";
import { Badge, Card } from "../../ui/page/page.js";
import { Loaded } from "../../ui/page/states.js";
import { Pager } from "../../ui/tables/pager.js";
import { type Column, Table } from "../../ui/tables/table.js";
import { KeyText } from "../../ui/text/key-text.js";
import { toUrl, useUrlQuery } from "../../ui/url-query.js";

type LedgerEntry = ReplyOf<"ledgerEntries">["items"][number];

interface LedgerProps {
  readonly tenant: string;
  readonly meters: readonly string[];
  readonly changeCount: number;
}

const PAGE = 50;
const WEEK_MS = 7 * 86_400_000;

/** The entries of a tenant. */
export function Ledger({ tenant, meters, changeCount }: LedgerProps) {
  const [url] = useUrlQuery();
  const { meter, kind, to, after } = url;
  const from = url.from ?? dayOf(wallMs() - WEEK_MS);
  const filter = { tenant, meter, kind, from, to };
  const query = { ...filter, after, limit: PAGE };
  const answer = useAnswer("ledgerEntries", "/v1/ledger/entries", { query });
  useEffect(() => {
    if (changeCount > 0) void answer.reload();
  }, [changeCount]);
  return (
    <Card title="Ledger" isWide actions={<Exports filter={filter} />}>
      <Filters key={JSON.stringify(filter)} meters={meters} from={from} />
      <Loaded answer={answer} lines={6}>
        {({ items, next }) => (
          <>
            <Table
              label="Entries of the ledger"
              columns={COLUMNS}
              rows={items}
              keyOf={({ accountId, sequence }) => `${accountId} ${sequence}`}
              empty="There are no such entries. Choose an earlier day, or another kind."
            />
            <Pager next={next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function Exports({ filter }: { readonly filter: Readonly<Record<string, string | undefined>> }) {
  return (
    <>
      {["csv", "json"].map((format) => (
        <a key={format} download href={toUrl("/v1/ledger/export", { ...filter, format })}>
          Export as {format.toUpperCase()}
        </a>
      ))}
    </>
  );
}

const KINDS = [
  "grant",
  "use",
  "reserve",
  "commit",
  "cancel",
  "expire",
  "lease",
  "return",
  "adjust",
].map((value) => ({ value, name: value }));

interface FiltersProps {
  readonly meters: readonly string[];
  readonly from: string;
}

function Filters({ meters, from }: FiltersProps) {
  const [url, setUrl] = useUrlQuery();
  const [values, setValues] = useState({
    meter: url.meter ?? "",
    kind: url.kind ?? "",
    from,
    to: url.to ?? "",
  });
  const field = (name: keyof typeof values) => ({
    value: values[name],
    onInput: (value: string) => setValues({ ...values, [name]: value }),
  });
  const names = [...new Set([...meters, values.meter])].filter((name) => name !== "");
  const submit = (event: Event) => {
    event.preventDefault();
    setUrl({ ...values, after: undefined });
  };
  return (
    <form class="filters" aria-label="Filters of the ledger" onSubmit={submit}>
      <Select
        label="Meter"
        options={[{ value: "", name: "All" }, ...names.map((name) => ({ value: name, name }))]}
        {...field("meter")}
      />
      <Select label="Kind" options={[{ value: "", name: "All" }, ...KINDS]} {...field("kind")} />
      <Field label="From" type="date" {...field("from")} />
      <Field label="Before" type="date" {...field("to")} />
      <div>
        <Button type="submit">Show</Button>
      </div>
    </form>
  );
}

const COLUMNS: readonly Column<LedgerEntry>[] = [
  { name: "When", cell: ({ atMs }) => <Time atMs={atMs} /> },
  { name: "Meter", cell: ({ meter }) => meter },
  {
    name: "Kind",
    cell: ({ kind }) => <Badge kind={kind === "grant" ? "good" : "plain"}>{kind}</Badge>,
  },
  { name: "Units", isNumber: true, cell: ({ amount }) => signed(amount) },
  { name: "Balance", isNumber: true, cell: ({ balance }) => formatCount(balance) },
  { name: "By", cell: ({ actor }) => <KeyText value={actor} lengthMax={40} /> },
  { name: "Why", cell: ({ details }) => reasonOf(details) },
];

function signed(amount: number): string {
  return amount > 0 ? `+${formatCount(amount)}` : formatCount(amount);
}

function reasonOf(details: LedgerEntry["details"]) {
  const reason = details?.reason;
  return typeof reason === "string" ? <KeyText value={reason} /> : "";
}

function dayOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}
