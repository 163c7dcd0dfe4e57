// The rules in force, fifty to a page, with their rates. Ten thousand rules are searched and sorted here; only one page
// of them is drawn.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useMay } from "../../../api/session.js";
import { useAnswer } from "../../../api/use-answer.js";
import { after } from "../../../base/clock.js";
import { Sparkline } from "../../../ui/charts/sparkline.js";
import { formatCount, formatRate } from "../../../ui/formats/format.js";
import { Button } from "../../../ui/forms/button.js";
import { Field, Select } from "../../../ui/forms/field.js";
import { useHasControlPlane } from "../../../ui/page/control-plane.js";
import { Badge, Card, Page } from "../../../ui/page/page.js";
import { Empty, Loaded } from "../../../ui/page/states.js";
import { type Column, Table } from "../../../ui/tables/table.js";
import { HISTORY_ADDRESS, RULES_ADDRESS, toEditAddress, toRuleAddress } from "../addresses.js";
import type { RateHistory } from "../rate-histories.js";
import { type Rates, sayWhere, useRates } from "../rates.js";
import { type RuleView, sayMatch, sayRule, statesOf } from "../words.js";
import { AllRulesState, KillSwitch } from "./kill-switch.js";

const PAGE_SIZE = 50;
const TYPING_PAUSE_MS = 250;
const ORDERS = [
  { value: "", name: "As written" },
  { value: "busy", name: "Busiest first" },
  { value: "refused", name: "Most refusals first" },
  { value: "changed", name: "Off, deny and shadow first" },
];

/** The list of rules. */
export function RuleList() {
  const rates = useRates();
  const answer = useAnswer("rules", "/v1/rules");
  const isOperator = useMay("operator");
  const hasControlPlane = useHasControlPlane();
  const mayEdit = isOperator && hasControlPlane;
  const shown = answer.data?.version;
  const current = rates.tick?.version;
  useEffect(() => {
    if (shown !== undefined && current !== undefined && shown !== current) void answer.reload();
  }, [current]);
  return (
    <Page
      title="Rules"
      lead={`The limits in force, with their rates over the last seconds${sayWhere(rates.tick?.fleet)}.`}
      actions={
        <>
          <a class="button plain" href={HISTORY_ADDRESS}>
            History
          </a>
          <KillSwitch switchedTo={answer.data?.switchedTo} onChanged={answer.reload} />
          {mayEdit && (
            <a class="button primary" href={toEditAddress()}>
              Edit rules
            </a>
          )}
        </>
      }
    >
      <Loaded answer={answer} lines={8}>
        {({ rules, isEnabled, switchedTo }) => (
          <>
            <AllRulesState
              isEnabled={isEnabled}
              switchedTo={switchedTo}
              onChanged={answer.reload}
            />
            {rules.length === 0 ? (
              <Empty title="There are no rules yet">
                {mayEdit ? (
                  <a href={toEditAddress()}>Write the first rule</a>
                ) : (
                  <code>sluice rules push rules.yaml --publish</code>
                )}
              </Empty>
            ) : (
              <Listed rules={rules} rates={rates} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}

interface ListedProps {
  readonly rules: readonly RuleView[];
  readonly rates: Rates;
}

function Listed({ rules, rates }: ListedProps) {
  const { query, route } = useLocation();
  const { q = "", order = "" } = query;
  const [typed, setTyped] = useState(q);
  const written = useRef(q);
  const go = (changes: Record<string, string>) => {
    const next = Object.entries({ q: typed, order, ...changes }).filter(
      ([, value]) => value !== "",
    );
    const search = new URLSearchParams(next).toString();
    written.current = changes.q ?? typed;
    route(search === "" ? RULES_ADDRESS : `${RULES_ADDRESS}?${search}`, true);
  };
  // The address follows when typing pauses; a link or the back button changes what is searched for.
  useEffect(
    () =>
      after(TYPING_PAUSE_MS, () => {
        if (typed !== written.current) go({});
      }),
    [typed],
  );
  useEffect(() => {
    if (q !== written.current) setTyped(q);
    written.current = q;
  }, [q]);
  const found = useMemo(() => search(rules, typed), [rules, typed]);
  const sorted = useMemo(() => sort(found, order, rates), [found, order, rates.tick]);
  const pages = Math.max(1, Math.ceil(sorted.length / PAGE_SIZE));
  const page = Math.min(pages, Math.max(1, Number(query.page) || 1));
  const rows = sorted.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
  return (
    <Card isWide>
      <div class="rules-tools">
        <Field
          label="Search"
          type="search"
          value={typed}
          placeholder="id, path or key"
          onInput={setTyped}
        />
        <Select
          label="Order"
          value={order}
          options={ORDERS}
          onInput={(value) => go({ order: value })}
        />
        <p class="rules-count" role="status">
          {formatCount(sorted.length)} {sorted.length === 1 ? "rule" : "rules"}
        </p>
      </div>
      <Table
        label="Rules"
        columns={columnsOf(rates)}
        rows={rows}
        keyOf={({ id }) => id}
        empty={
          <>
            No rule matches “{typed}”. <Button onClick={() => setTyped("")}>Show all rules</Button>
          </>
        }
      />
      {pages > 1 && (
        <nav class="rules-pages" aria-label="Pages of rules">
          <Button isDisabled={page === 1} onClick={() => go({ page: String(page - 1) })}>
            Previous
          </Button>
          <span>
            Page {formatCount(page)} of {formatCount(pages)}
          </span>
          <Button isDisabled={page === pages} onClick={() => go({ page: String(page + 1) })}>
            Next
          </Button>
        </nav>
      )}
    </Card>
  );
}

function search(rules: readonly RuleView[], q: string): readonly RuleView[] {
  const wanted = q.trim().toLowerCase();
  if (wanted === "") return rules;
  return rules.filter(({ id, keyType, match }) =>
    `${id} ${keyType} ${sayMatch(match)}`.toLowerCase().includes(wanted),
  );
}

function sort(rules: readonly RuleView[], order: string, rates: Rates): readonly RuleView[] {
  if (order === "") return rules;
  const rank = (rule: RuleView): number => {
    if (order === "changed") return statesOf(rule)[0]?.kind === "good" ? 0 : 1;
    const refused = rates.lately(rule.id, "refused") + rates.lately(rule.id, "shadowed");
    return order === "refused" ? refused : refused + rates.lately(rule.id, "allowed");
  };
  const ranked = rules.map((rule) => ({ rule, rank: rank(rule) }));
  return ranked.sort((a, b) => b.rank - a.rank).map(({ rule }) => rule);
}

function columnsOf(rates: Rates): readonly Column<RuleView>[] {
  const latest = (id: string, of: "allowed" | "refused" | "shadowed") =>
    formatRate(rates.lately(id, of));
  return [
    {
      name: "Rule",
      cell: ({ id, match }) => (
        <div class="rules-name">
          <a href={toRuleAddress(id)}>{id}</a>
          <small>{sayMatch(match)}</small>
        </div>
      ),
    },
    {
      name: "Limit",
      cell: (rule) => (
        <div class="rules-name">
          <span>{sayRule(rule)}</span>
          <small>{rule.consistency}</small>
        </div>
      ),
    },
    {
      name: "State",
      cell: (rule) => (
        <span class="rules-states">
          {statesOf(rule).map(({ kind, name }) => (
            <Badge key={name} kind={kind}>
              {name}
            </Badge>
          ))}
        </span>
      ),
    },
    {
      name: "Last minutes",
      cell: ({ id }) => {
        const history = rates.of(id);
        return (
          <Sparkline
            values={history === undefined ? [] : total(history)}
            label={`Requests under ${id}`}
          />
        );
      },
    },
    { name: "Allowed", isNumber: true, cell: ({ id }) => latest(id, "allowed") },
    {
      name: "Refused",
      isNumber: true,
      cell: ({ id, onExceed }) => latest(id, onExceed === "shadow" ? "shadowed" : "refused"),
    },
  ];
}

/** Requests that a rule in shadow mode would refuse count too: they came. */
function total({ allowed, refused, shadowed }: RateHistory): readonly number[] {
  return allowed.map((value, at) => value + (refused[at] ?? 0) + (shadowed[at] ?? 0));
}
