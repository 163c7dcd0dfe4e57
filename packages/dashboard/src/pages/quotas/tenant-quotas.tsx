// The quotas of one tenant: each with its gauge, its burn-down and what an operator can do; below them the ledger.

import { useState } from "preact/hooks";
import { useMay } from "../../api/session.js";
import { useAnswer } from "../../api/use-answer.js";
import { Gauge } from "../../ui/charts/gauge.js";
import { formatCount } from "../../ui/formats/format.js";
import { Time } from "../../ui/formats/time.js";
import { Button } from "../../ui/forms/button.js";
import { Card } from "../../ui/page/page.js";
import { Empty, Loaded } from "../../ui/page/states.js";
import { escapeUnseen } from "../../ui/text/key-text.js";
import { BurnDown, type Quota } from "./burn-down.js";
import { CorrectionDialog, type CorrectionVerb } from "./correction-dialog.js";
import { Ledger } from "./ledger.js";

/** The quotas of a tenant. */
export function TenantQuotas({ tenant }: { readonly tenant: string }) {
  const answer = useAnswer("quotas", "/v1/quotas", { query: { tenant } });
  const [changeCount, setChangeCount] = useState(0);
  const changed = async () => {
    await answer.reload();
    setChangeCount((count) => count + 1);
  };
  return (
    <Loaded answer={answer} lines={8}>
      {({ items, timeZone }) => (
        <>
          {items.length === 0 && (
            <Empty title={`${escapeUnseen(tenant)} has used no durable quota in this period`}>
              <p>
                Its meters appear here with the first request. What it may use is in its{" "}
                <a href="/dashboard/access/plans">plan</a>.
              </p>
            </Empty>
          )}
          <div class="grid">
            {items.map((quota) => (
              <Meter
                key={quota.accountId}
                tenant={tenant}
                timeZone={timeZone}
                quota={quota}
                changeCount={changeCount}
                onChanged={changed}
              />
            ))}
          </div>
          <Ledger
            tenant={tenant}
            meters={items.map(({ meter }) => meter)}
            changeCount={changeCount}
          />
        </>
      )}
    </Loaded>
  );
}

interface MeterProps {
  readonly tenant: string;
  readonly timeZone: string;
  readonly quota: Quota;
  readonly changeCount: number;
  onChanged(): Promise<void>;
}

function Meter({ tenant, timeZone, quota, changeCount, onChanged }: MeterProps) {
  const mayAct = useMay("operator");
  const [verb, setVerb] = useState<CorrectionVerb>();
  const { meter, used, held, granted, balance, period } = quota;
  const heldUnits = held.reserved + held.leased;
  return (
    <Card
      title={meter}
      isWide
      actions={
        mayAct && (
          <>
            <Button onClick={() => setVerb("grant")}>Top up</Button>
            <Button onClick={() => setVerb("adjust")}>Adjust</Button>
          </>
        )
      }
    >
      <Gauge used={used + heldUnits} limit={granted} label={`Used of ${meter}`} />
      <dl class="pairs quotas-facts">
        <dt>Left</dt>
        <dd>{formatCount(balance)} units</dd>
        <dt>Quota</dt>
        <dd>
          {formatCount(quota.quota)} units
          {granted !== quota.quota && ` and ${formatCount(granted - quota.quota)} on top`}
        </dd>
        {heldUnits > 0 && (
          <>
            <dt>Held</dt>
            <dd>
              {formatCount(held.reserved)} reserved, {formatCount(held.leased)} leased to nodes
            </dd>
          </>
        )}
        <dt>Period</dt>
        <dd>
          ends <Time atMs={period.endMs} />
        </dd>
        <dt>Forecast</dt>
        <dd>{forecastText(quota)}</dd>
      </dl>
      <BurnDown tenant={tenant} timeZone={timeZone} quota={quota} changeCount={changeCount} />
      {verb !== undefined && (
        <CorrectionDialog
          verb={verb}
          tenant={tenant}
          meter={meter}
          onClose={() => setVerb(undefined)}
          onDone={onChanged}
        />
      )}
    </Card>
  );
}

/** When the quota is expected to run out, in a sentence. */
function forecastText({ forecast, balance }: Quota): string {
  if (balance <= 0) return "It has run out.";
  if (forecast === null) return "Nothing was used yet.";
  const { unitsPerDay, day, earliestDay, latestDay } = forecast;
  const pace = `at ${formatCount(unitsPerDay)} units a day`;
  if (day === null)
    return earliestDay === null
      ? `It lasts until the period ends, ${pace}.`
      : `It lasts until the period ends, ${pace}; at worst it runs out on ${earliestDay}.`;
  const range =
    earliestDay !== null && earliestDay !== latestDay
      ? `, in nine cases of ten between ${earliestDay} and ${latestDay ?? "the end of the period"}`
      : "";
  return `It runs out on ${day}, ${pace}${range}.`;
}
