// The page Live: what the service does in this second, what is degraded, and who is refused and why.

import "./live.css";
import { useLocation } from "preact-iso";
import type { LiveTick } from "sluice-server/api";
import { Chart, type ChartSeries } from "../../ui/charts/chart.js";
import { formatDuration, formatRate, formatShort } from "../../ui/formats/format.js";
import { Button } from "../../ui/forms/button.js";
import { Badge, Card, Figure, Page } from "../../ui/page/page.js";
import { Problem } from "../../ui/page/states.js";
import { FollowerNote, NodePicker, Nodes, toLead, toLiveAddress } from "./fleet.js";
import type { SecondCounts } from "./history.js";
import { BusyKeys, LatestRefusals, RulesNow } from "./lists.js";
import { type LiveState, useLive } from "./use-live.js";

const SERIES: readonly ChartSeries[] = [
  { name: "Allowed", colour: "--allowed", isFilled: true },
  { name: "Refused", colour: "--refused" },
  { name: "Delayed", colour: "--delayed" },
  { name: "Shadow refused", colour: "--shadowed" },
];

/** The page. */
export function Live() {
  const { query, route } = useLocation();
  const node = query.node || undefined;
  const { live, isPaused, togglePause } = useLive(node);
  const { tick, fleet } = live;
  const actions = (
    <>
      <NodePicker fleet={fleet} node={node} onPick={(picked) => route(toLiveAddress(picked))} />
      <Connection live={live} isPaused={isPaused} />
      <Button isPressed={isPaused} onClick={togglePause}>
        {isPaused ? "Continue" : "Pause"}
      </Button>
    </>
  );
  return (
    <Page title="Live" lead={toLead(fleet, node)} actions={actions}>
      <Failure live={live} node={node} />
      <FollowerNote fleet={fleet} />
      <Notices tick={tick} />
      <Figures live={live} />
      <div class="grid">
        <Card title="Requests per second" isWide>
          <Chart
            label="Requests per second over the last five minutes"
            series={SERIES}
            data={live.history}
            format={formatShort}
          />
        </Card>
        <StoreCard tick={tick} />
        <LatencyCard tick={tick} />
        <Nodes fleet={fleet} node={node} />
        <RulesNow tick={tick} />
        <BusyKeys tick={tick} />
        <LatestRefusals refusals={live.refusals} tick={tick} />
      </div>
    </Page>
  );
}

function Connection({ live, isPaused }: { readonly live: LiveState; readonly isPaused: boolean }) {
  return (
    <span class="live-connection" role="status">
      {live.connection === "lost" ? (
        <Badge kind="bad">Not connected, trying again</Badge>
      ) : isPaused ? (
        <Badge kind="warn">Paused</Badge>
      ) : live.connection === "open" ? (
        <Badge kind="good">Live</Badge>
      ) : (
        <Badge>Connecting</Badge>
      )}
    </span>
  );
}

/** Why the service does not send; what was shown before stays. */
function Failure({
  live: { error },
  node,
}: {
  readonly live: LiveState;
  readonly node?: string | undefined;
}) {
  if (error === undefined) return null;
  const all = node !== undefined && <a href="/dashboard/">Show all nodes</a>;
  return <Problem error={error} action={all} />;
}

/** What works only in part. */
function Notices({ tick }: { readonly tick: LiveTick | undefined }) {
  return (
    <div role="status">
      {(tick?.notices ?? []).map(({ id, text, nodes, isSevere }) => (
        <p key={id} class={isSevere ? "failure" : "notice"}>
          {nodes === null ? text : `${nodes.join(", ")}: ${text}`}
        </p>
      ))}
    </div>
  );
}

function Figures({ live: { history, tick } }: { readonly live: LiveState }) {
  const [, allowed, refused, delayed, shadowed] = history;
  const last = (list: SecondCounts) => {
    const count = list.at(-1) ?? null;
    return count === null ? "–" : formatRate(count);
  };
  const peak = (list: SecondCounts) =>
    `peak ${formatRate(Math.max(...list.map((count) => count ?? 0)))}`;
  const p99Ms = tick?.latency?.p99Ms;
  return (
    <div class="figures">
      <Figure name="Allowed" value={last(allowed)} note={peak(allowed)} kind="good" />
      <Figure name="Refused" value={last(refused)} note={peak(refused)} kind="bad" />
      <Figure name="Delayed" value={last(delayed)} note={peak(delayed)} kind="warn" />
      <Figure name="Shadow refused" value={last(shadowed)} note={peak(shadowed)} kind="info" />
      <Figure
        name="Decision time"
        value={p99Ms === undefined ? "–" : `≤ ${formatDuration(p99Ms)}`}
        note="p99 in the last second"
      />
    </div>
  );
}

function StoreCard({ tick }: { readonly tick: LiveTick | undefined }) {
  const store = tick?.store;
  return (
    <Card title="Store and rules">
      <dl class="pairs live-pairs">
        <dt>Store</dt>
        <dd>{store?.kind ?? "–"}</dd>
        <dt>State</dt>
        <dd>
          {store === undefined ? (
            "–"
          ) : store.isFallback ? (
            <Badge kind="bad">fallback: {store.onFailure}</Badge>
          ) : (
            <Badge kind="good">answers</Badge>
          )}
        </dd>
        <dt>If it fails</dt>
        <dd>{store?.onFailure ?? "–"}</dd>
        <dt>Rules</dt>
        <dd>
          {tick === undefined ? "–" : tick.rulesInForce}{" "}
          <small>version {tick?.version.slice(0, 12) ?? "–"}</small>
        </dd>
      </dl>
    </Card>
  );
}

function LatencyCard({ tick }: { readonly tick: LiveTick | undefined }) {
  const latency = tick?.latency ?? undefined;
  const show = (ms: number | undefined) => (ms === undefined ? "–" : `≤ ${formatDuration(ms)}`);
  return (
    <Card title="Decision time in the last second">
      <dl class="pairs live-pairs">
        <dt>p50</dt>
        <dd>{show(latency?.p50Ms)}</dd>
        <dt>p95</dt>
        <dd>{show(latency?.p95Ms)}</dd>
        <dt>p99</dt>
        <dd>{show(latency?.p99Ms)}</dd>
      </dl>
    </Card>
  );
}
