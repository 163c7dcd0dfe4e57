// The quotas of all tenants, by the share that is used.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { useAnswer } from "../../api/use-answer.js";
import { Gauge } from "../../ui/charts/gauge.js";
import { formatCount } from "../../ui/formats/format.js";
import { Time } from "../../ui/formats/time.js";
import { Button } from "../../ui/forms/button.js";
import { Field } from "../../ui/forms/field.js";
import { Card } from "../../ui/page/page.js";
import { Empty, Loaded } from "../../ui/page/states.js";
import { Pager } from "../../ui/tables/pager.js";
import { type Column, Table } from "../../ui/tables/table.js";
import { CopyButton } from "../../ui/text/copy.js";
import { useUrlQuery } from "../../ui/url-query.js";

type Share = ReplyOf<"quotaShares">["items"][number];

const PAGE = 50;
const RULE = `- id: exports
  match: { path: /exports, methods: POST }
  key: tenant
  limit: { quota: { limit: 1000, period: month } }
  durable: true`;

/** The list, with its search. */
export function QuotaList() {
  const [url] = useUrlQuery();
  const { search, meter, after } = url;
  const query = { search, meter, after, limit: PAGE };
  const answer = useAnswer("quotaShares", "/v1/quota-shares", { query });
  const isNarrowed = (search ?? meter) !== undefined;
  return (
    <Card title="Tenants" isWide>
      <Search key={`${search} ${meter}`} />
      <Loaded answer={answer} lines={6}>
        {({ items, next }) => (
          <>
            <Table
              label="Quotas"
              columns={COLUMNS}
              rows={items}
              keyOf={({ accountId }) => accountId}
              empty={isNarrowed ? "No tenant of that name has used a quota." : <NoneYet />}
            />
            <Pager next={next} />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function NoneYet() {
  return (
    <Empty title="No tenant has used a durable quota yet">
      <p>
        A rule with <code>durable: true</code> keeps its quota in the ledger, for billing:
      </p>
      <pre class="snippet">{RULE}</pre>
      <CopyButton value={RULE} />
    </Empty>
  );
}

function Search() {
  const [url, setUrl] = useUrlQuery();
  const [search, setSearch] = useState(url.search ?? "");
  const [meter, setMeter] = useState(url.meter ?? "");
  const submit = (event: Event) => {
    event.preventDefault();
    setUrl({ search: search.trim(), meter: meter.trim(), after: undefined });
  };
  return (
    <form class="filters" aria-label="Filters" onSubmit={submit}>
      <Field label="Tenant begins with" value={search} onInput={setSearch} placeholder="acme" />
      <Field label="Meter" value={meter} onInput={setMeter} placeholder="exports" />
      <div>
        <Button type="submit">Show</Button>
      </div>
    </form>
  );
}

const COLUMNS: readonly Column<Share>[] = [
  {
    name: "Tenant",
    cell: ({ tenant }) => <a href={`/dashboard/quotas/${encodeURIComponent(tenant)}`}>{tenant}</a>,
  },
  { name: "Meter", cell: ({ meter }) => meter },
  {
    name: "Used",
    cell: ({ tenant, meter, used, granted }) => (
      <Gauge used={used} limit={granted} label={`Used by ${tenant} of ${meter}`} />
    ),
  },
  { name: "Left", isNumber: true, cell: ({ balance }) => formatCount(balance) },
  { name: "Period ends", cell: ({ period }) => <Time atMs={period.endMs} /> },
];
