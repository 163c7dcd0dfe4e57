// One rule: what it says, how busy it is and because of whom, and what operators can do about it.

import { Fragment } from "preact";
import type { ReplyOf } from "sluice-server/api";
import { CLEAR_KEYS, useMay, useSeesKeys } from "../../../api/session.js";
import { useAnswer } from "../../../api/use-answer.js";
import { Chart, type ChartSeries } from "../../../ui/charts/chart.js";
import { formatRate, formatShare } from "../../../ui/formats/format.js";
import { useHasControlPlane } from "../../../ui/page/control-plane.js";
import { Badge, Card, Page } from "../../../ui/page/page.js";
import { Empty, Loaded } from "../../../ui/page/states.js";
import { Table } from "../../../ui/tables/table.js";
import { KeyText } from "../../../ui/text/key-text.js";
import { RULES_ADDRESS, toEditPlaceAddress, toKeyAddress } from "../addresses.js";
import type { RateHistory } from "../rate-histories.js";
import { useRates } from "../rates.js";
import {
  type RuleView,
  sayAlgorithms,
  sayEscalation,
  sayKey,
  sayLimits,
  sayMatch,
  sayRule,
  statesOf,
} from "../words.js";
import { BlockedKeys } from "./blocked-keys.js";
import { RuleActs } from "./rule-acts.js";

const SERIES: readonly ChartSeries[] = [
  { name: "Allowed", colour: "--allowed", isFilled: true },
  { name: "Refused", colour: "--refused" },
  { name: "Would be refused (shadow)", colour: "--shadowed" },
];
/** How often the keys of the rule are asked for. */
const KEYS_MS = 2_000;
const NOTHING: RateHistory = { times: [], allowed: [], refused: [], shadowed: [] };

/** The page of a rule. */
export function RulePage({ id }: { readonly id: string }) {
  const answer = useAnswer("rules", "/v1/rules");
  const rule = answer.data?.rules.find((each) => each.id === id);
  const hasControlPlane = useHasControlPlane();
  const isOperator = useMay("operator");
  const mayEdit = isOperator && hasControlPlane;
  return (
    <Page
      title={id}
      lead={rule === undefined ? " " : `${sayMatch(rule.match)}: ${sayRule(rule)}`}
      actions={
        <>
          <a class="button plain" href={RULES_ADDRESS}>
            All rules
          </a>
          {mayEdit && rule !== undefined && (
            <a class="button plain" href={toEditPlaceAddress(rule.place)}>
              Edit this rule
            </a>
          )}
        </>
      }
    >
      <Loaded answer={answer} lines={6}>
        {({ switches = [] }) =>
          rule === undefined ? (
            <Empty title="No rule with this name is in force">
              <a href={RULES_ADDRESS}>See all rules</a>
            </Empty>
          ) : (
            <Details
              rule={rule}
              isSwitched={switches.some((each) => each.rule === id)}
              onChanged={answer.reload}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

interface DetailsProps {
  readonly rule: RuleView;
  readonly isSwitched: boolean;
  onChanged(): Promise<void>;
}

function Details({ rule, isSwitched, onChanged }: DetailsProps) {
  const seesKeys = useSeesKeys();
  const mayAct = useMay("operator");
  const rates = useRates();
  const { data: top } = useAnswer("top", "/v1/top", {
    query: { rule: rule.id, keys: seesKeys ? "clear" : undefined },
    ...(seesKeys && { headers: CLEAR_KEYS }),
    everyMs: KEYS_MS,
  });
  // The rates above them are of all nodes.
  const where = (rates.tick?.fleet.nodesInAll ?? 1) > 1 ? " on this node" : "";
  const { times, allowed, refused, shadowed } = rates.of(rule.id) ?? NOTHING;
  return (
    <div class="grid">
      <Card title="Requests per second" isWide>
        <Chart
          label={`Requests per second under ${rule.id}`}
          series={SERIES}
          data={[[...times], [...allowed], [...refused], [...shadowed]]}
          format={formatRate}
        />
      </Card>
      <Card title="Definition" actions={<States rule={rule} />}>
        <Facts rule={rule} />
      </Card>
      {mayAct && <RuleActs rule={rule} isSwitched={isSwitched} onChanged={onChanged} />}
      <Card title={`Busiest keys${where}`}>
        <Keys rule={rule.id} top={top} of="hottest" seesKeys={seesKeys} />
      </Card>
      <Card title={`Most refused keys${where}`}>
        <Keys rule={rule.id} top={top} of="mostRefused" seesKeys={seesKeys} />
      </Card>
      {rule.escalate && <BlockedKeys rule={rule.id} where={where} everyMs={KEYS_MS} />}
    </div>
  );
}

function States({ rule }: { readonly rule: RuleView }) {
  return (
    <>
      {statesOf(rule).map(({ kind, name }) => (
        <Badge key={name} kind={kind}>
          {name}
        </Badge>
      ))}
    </>
  );
}

const BEYOND: Readonly<Record<string, string>> = {
  reject: "refused",
  delay: "delayed until there is room",
  shadow: "only counted: nothing is refused",
  challenge: "refused with a challenge",
};

function Facts({ rule }: { readonly rule: RuleView }) {
  const { limits, match, keyType, tiers, onExceed, rolloutPercent = 100, overrides = 0 } = rule;
  const rows: [string, string][] = [
    ["Requests", sayMatch(match)],
    ["Limit", sayLimits(limits)],
    ["Algorithm", sayAlgorithms(limits)],
    ["Counted", sayKey(keyType)],
    ["Requests beyond it", `are ${BEYOND[onExceed] ?? onExceed}`],
    ...(rule.escalate
      ? [["Keys that keep exceeding it", sayEscalation(rule.escalate)] as [string, string]]
      : []),
    ["Consistency", rule.consistency ?? "strict"],
    ...(rule.across === undefined || rule.across === "each"
      ? []
      : [["Across regions", rule.across] as [string, string]]),
    ["Rollout", rolloutPercent === 100 ? "all keys" : `${rolloutPercent}% of keys`],
    ...Object.entries(tiers).map(([tier, own]): [string, string] => [
      `Tier ${tier}`,
      sayLimits(own),
    ]),
    ...(overrides > 0
      ? [["Keys with limits of their own", String(overrides)] as [string, string]]
      : []),
    ...(rule.place === null || rule.place === undefined
      ? []
      : [["Written in", rule.place] as [string, string]]),
  ];
  return (
    <dl class="rules-facts">
      {rows.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** The list has half the width of the page. */
const KEY_LENGTH_MAX = 40;

interface KeysProps {
  readonly rule: string;
  readonly top: ReplyOf<"top"> | undefined;
  readonly of: "hottest" | "mostRefused";
  readonly seesKeys: boolean;
}

function Keys({ rule, top, of, seesKeys }: KeysProps) {
  const rate = top?.rules[0];
  const total =
    of === "hottest"
      ? (rate?.allowedPerSecond ?? 0) + (rate?.blockedPerSecond ?? 0)
      : (rate?.blockedPerSecond ?? 0);
  return (
    <Table
      label={of === "hottest" ? "Busiest keys" : "Most refused keys"}
      rows={(top?.[of] ?? []).slice(0, 10)}
      keyOf={({ key }) => key}
      columns={[
        {
          name: "Key",
          cell: ({ key }) => (
            <KeyText
              value={key}
              lengthMax={KEY_LENGTH_MAX}
              href={seesKeys ? toKeyAddress(rule, key) : undefined}
            />
          ),
        },
        { name: "Requests", isNumber: true, cell: ({ perSecond }) => formatRate(perSecond) },
        {
          name: "Share",
          isNumber: true,
          cell: ({ perSecond }) => formatShare(total === 0 ? 0 : Math.min(1, perSecond / total)),
        },
      ]}
      empty={
        of === "hottest"
          ? "No requests in the last seconds. Keys appear here as soon as requests match this rule."
          : "No refusals in the last seconds."
      }
    />
  );
}
