// The rules that count a caller: counters as gauges, the trail of why, and what an operator can do to the key.

import { useState } from "preact/hooks";
import { useMay } from "../../api/session.js";
import { Gauge } from "../../ui/charts/gauge.js";
import { algorithmName } from "../../ui/formats/algorithm-name.js";
import { InTime } from "../../ui/formats/time.js";
import { Button } from "../../ui/forms/button.js";
import { useHasControlPlane } from "../../ui/page/control-plane.js";
import { Badge, Card } from "../../ui/page/page.js";
import { Empty } from "../../ui/page/states.js";
import { KeyText } from "../../ui/text/key-text.js";
import { toUrl, useUrlQuery } from "../../ui/url-query.js";
import { toRuleAddress } from "../rules/addresses.js";
import { sayKey } from "../rules/words.js";
import { ActDialog, type KeyAction } from "./act-dialogs.js";
import { countsByOther, requestOf } from "./judged.js";
import type { Facts } from "./lookup.js";
import { Trail } from "./trail.js";
import type { ExplainedLimit, ExplainedRule } from "./words.js";

interface RuleCardsProps {
  readonly rules: readonly ExplainedRule[];
  readonly facts: Facts;
  onChanged(): Promise<void>;
}

/** Cards that are drawn together: hundreds would hold the page up. */
const CARDS = 30;

/** A card for each rule. */
export function RuleCards({ rules, facts, onChanged }: RuleCardsProps) {
  const [countMax, setCountMax] = useState(CARDS);
  if (rules.length === 0)
    return (
      <Empty title="No rule counts this caller">
        <p>
          Rules that count by something else are left out. See all of them on the page{" "}
          <a href="/dashboard/rules">Rules</a>.
        </p>
      </Empty>
    );
  return (
    <>
      <div class="grid">
        {rules.slice(0, countMax).map((explained) => (
          <RuleCard
            key={explained.rule}
            explained={explained}
            facts={facts}
            onChanged={onChanged}
          />
        ))}
      </div>
      {rules.length > countMax && (
        <p class="key-more">
          <Button onClick={() => setCountMax(countMax + CARDS)}>
            Show more: {countMax} of {rules.length} rules are shown
          </Button>
        </p>
      )}
    </>
  );
}

interface RuleCardProps {
  readonly explained: ExplainedRule;
  readonly facts: Facts;
  onChanged(): Promise<void>;
}

function RuleCard({ explained, facts, onChanged }: RuleCardProps) {
  const [act, setAct] = useState<KeyAction>();
  const [isOpen, setIsOpen] = useState(false);
  const hasControlPlane = useHasControlPlane();
  const isBlocked = explained.blockedMs !== 0;
  return (
    <Card
      title={explained.rule}
      actions={
        <>
          <State rule={explained} />
          <a href={toRuleAddress(explained.rule)}>Rule</a>
          {hasControlPlane && explained.key !== null && (
            <a
              href={toUrl("/dashboard/audit", {
                kind: "counter",
                id: `${explained.rule} ${explained.key}`,
              })}
            >
              Audit
            </a>
          )}
        </>
      }
    >
      {explained.key !== null && (
        <p class="key-counted">
          counted as <KeyText value={explained.key} />
        </p>
      )}
      {countsByOther(explained) && (
        <p class="note">It counts {sayKey(explained.keyType)}, which this look-up does not have.</p>
      )}
      {isBlocked && (
        <p class="notice key-blocked">
          Blocked {explained.blockedMs === null ? "until it is unblocked" : "for "}
          {explained.blockedMs !== null && <InTime ms={explained.blockedMs} />}
          {explained.blockedMs !== null && " more"}.
        </p>
      )}
      {explained.limits.map((limit, at) => (
        <LimitGauge key={at} rule={explained.rule} limit={limit} />
      ))}
      <Elsewhere rule={explained} />
      <details class="key-why" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
        <summary>Why?</summary>
        {isOpen && <Trail rule={explained} />}
      </details>
      {explained.key !== null && <Acts rule={explained} facts={facts} onAct={setAct} />}
      {act !== undefined && explained.key !== null && (
        <ActDialog
          act={act}
          target={{ rule: explained.rule, key: explained.key }}
          facts={facts}
          onClose={() => setAct(undefined)}
          onDone={onChanged}
        />
      )}
    </Card>
  );
}

function State({ rule }: { readonly rule: ExplainedRule }) {
  if (!rule.isMatch) return <Badge>not this request</Badge>;
  if (rule.switch === "deny") return <Badge kind="bad">denies all</Badge>;
  if (rule.notApplied !== null)
    return (
      <Badge>{countsByOther(rule) ? `counts ${sayKey(rule.keyType)}` : "does not count it"}</Badge>
    );
  const passes = rule.blockedMs === 0 && rule.limits.every(({ wouldPass }) => wouldPass);
  if (passes) return <Badge kind="good">passes</Badge>;
  if (rule.onExceed === "shadow") return <Badge kind="info">would refuse (shadow)</Badge>;
  return <Badge kind="bad">refuses</Badge>;
}

function LimitGauge({ rule, limit }: { readonly rule: string; readonly limit: ExplainedLimit }) {
  const { limit: units, remaining, resetMs } = limit;
  const used = Math.max(0, units - remaining);
  const name = algorithmName(limit.algorithm);
  return (
    <div class="key-limit">
      <Gauge used={used} limit={units} label={`Used of the ${name} of ${rule}`} />
      <small>
        {name}
        {used > 0 && resetMs !== null && (
          <>
            {" · all back in "}
            <InTime ms={resetMs} />
          </>
        )}
      </small>
    </div>
  );
}

/** A rule that this request does not match: a link to one that it does. */
function Elsewhere({ rule }: { readonly rule: ExplainedRule }) {
  const [, setQuery] = useUrlQuery();
  if (rule.isMatch) return null;
  const request = requestOf(rule);
  if (request === undefined) return null;
  const { method, path } = request;
  return (
    <p class="key-instead">
      <Button kind="quiet" onClick={() => setQuery({ method, path })}>
        Explain {method ?? "GET"} {path ?? "/"} instead
      </Button>
    </p>
  );
}

interface ActsProps {
  readonly rule: ExplainedRule;
  readonly facts: Facts;
  onAct(act: KeyAction): void;
}

/** What may be done to the key; nothing for viewers. */
function Acts({ rule, facts, onAct }: ActsProps) {
  const mayAct = useMay("operator");
  const hasControlPlane = useHasControlPlane();
  if (!mayAct) return null;
  const isBlocked = rule.blockedMs !== 0;
  const subject = facts.tenant ?? facts.user ?? facts.apiKeyId;
  // Overrides are kept in a control plane.
  const canOverride = hasControlPlane && subject !== undefined;
  return (
    <div class="actions key-acts">
      <Button onClick={() => onAct("reset")}>Reset</Button>
      <Button onClick={() => onAct("grant")}>Refund</Button>
      {canOverride && <Button onClick={() => onAct("override")}>Override</Button>}
      {isBlocked ? (
        <Button kind="primary" onClick={() => onAct("unblock")}>
          Unblock
        </Button>
      ) : (
        <Button kind="danger" onClick={() => onAct("block")}>
          Block
        </Button>
      )}
    </div>
  );
}
