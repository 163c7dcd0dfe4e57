// What a draft would have done to the traffic of the last minutes.

import { useEffect, useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { type ApiError, ask, type RuleProblem } from "../../../api/client.js";
import { CLEAR_KEYS, useSeesKeys } from "../../../api/session.js";
import type { Answered } from "../../../api/use-answer.js";
import { formatCount, formatDuration, formatShare } from "../../../ui/formats/format.js";
import { Coverage } from "../../../ui/page/coverage.js";
import { Card, Figure } from "../../../ui/page/page.js";
import { Loaded } from "../../../ui/page/states.js";
import { Table } from "../../../ui/tables/table.js";
import { KeyText } from "../../../ui/text/key-text.js";
import { toKeyAddress, toRuleAddress } from "../addresses.js";
import { Problems } from "./problems.js";

/** A preview. */
export type Preview = ReplyOf<"preview">;

const SHOWN_MAX = 20;
/** The list has half the width of the page. */
const KEY_LENGTH_MAX = 40;

/** A preview, or why there is none. */
export interface Previewed extends Answered<Preview> {
  /** What is wrong with the draft; empty if it can be used, or while that is not known. */
  readonly problems: readonly RuleProblem[];
}

/** Asks for the preview of a draft, if it can be used. */
export function usePreview({ text }: { readonly text: string }): Previewed {
  const seesKeys = useSeesKeys();
  const [state, setState] = useState<Omit<Previewed, "reload">>({
    data: undefined,
    error: undefined,
    isLoading: true,
    problems: [],
  });
  const load = async () => {
    try {
      const next = await previewOf(text, seesKeys);
      setState({ data: undefined, error: undefined, isLoading: false, problems: [], ...next });
    } catch (error) {
      setState((old) => ({ ...old, error: error as ApiError, isLoading: false }));
    }
  };
  useEffect(() => {
    void load();
  }, [text]);
  return { ...state, reload: load };
}

/** @throws ApiError */
async function previewOf(
  text: string,
  seesKeys: boolean,
): Promise<Partial<Pick<Previewed, "data" | "problems">>> {
  const checked = await ask("validation", "/v1/rule-sets/validate", {
    method: "POST",
    body: { text },
  });
  if (!checked.valid) return { problems: checked.problems as readonly RuleProblem[] };
  const data = await ask("preview", "/v1/rule-sets/preview", {
    method: "POST",
    body: { text, keys: seesKeys ? "clear" : "hashed" },
    ...(seesKeys && { headers: CLEAR_KEYS }),
  });
  return { data };
}

/** The card of a preview. */
export function PreviewCard({ preview }: { readonly preview: Previewed }) {
  const { problems } = preview;
  return (
    <Card title="Preview" isWide>
      {problems.length > 0 ? (
        <Problems problems={problems} />
      ) : (
        <Loaded answer={preview} lines={6}>
          {(data) => (data.requests.total === 0 ? <NoTraffic data={data} /> : <Seen data={data} />)}
        </Loaded>
      )}
    </Card>
  );
}

function NoTraffic({ data }: { readonly data: Preview }) {
  return (
    <>
      <p class="notice" role="alert">
        <strong>There is no traffic to judge by.</strong> No requests came in the last{" "}
        {formatDuration(data.toMs - data.fromMs)}, so nothing is known of what this draft would do.
        Send some requests and load this page again, or publish the changed rules with{" "}
        <code>onExceed: shadow</code> first.
      </p>
      <Coverage nodes={data.nodes} what="Requests" />
      <Unjudged rules={data.unjudgedRules} />
    </>
  );
}

function Seen({ data }: { readonly data: Preview }) {
  const { requests, callers, byRule, byKey } = data;
  return (
    <>
      <p class="rules-verdict" role="status">
        <strong>{sayVerdict(callers)}</strong>
      </p>
      <p class="note">
        {formatCount(requests.total)} requests of the last {formatDuration(data.toMs - data.fromMs)}{" "}
        were decided again, by the rules in force and by this draft, both with empty counters.{" "}
        {data.keysShare < 1 && `${formatShare(data.keysShare)} of all keys are in the sample. `}
        Replayed, the rules in force decide {formatShare(requests.asDecided / requests.total)} of
        them as they did in production.
      </p>
      <Coverage nodes={data.nodes} what="Requests" />
      <div class="figures rules-preview-figures">
        <Figure
          name="Newly refused"
          value={formatCount(requests.newlyRefused)}
          note={`requests of ${sayCallers(callers.newlyRefused)}`}
          kind={requests.newlyRefused > 0 ? "bad" : "plain"}
        />
        <Figure
          name="Newly allowed"
          value={formatCount(requests.newlyAllowed)}
          note={`requests of ${sayCallers(callers.newlyAllowed)}`}
          kind={requests.newlyAllowed > 0 ? "good" : "plain"}
        />
        <Figure
          name="Refused by the rules in force"
          value={formatShare(requests.refusedBefore / requests.total)}
          note={`${formatCount(requests.refusedBefore)} requests`}
        />
        <Figure
          name="Refused by this draft"
          value={formatShare(requests.refusedAfter / requests.total)}
          note={`${formatCount(requests.refusedAfter)} requests`}
        />
      </div>
      {byRule.length > 0 && (
        <div class="rules-preview-tables">
          <div>
            <h3>By rule</h3>
            <Rules rules={byRule} />
          </div>
          <div>
            <h3>By key</h3>
            <Keys keys={byKey} />
          </div>
        </div>
      )}
      <Unjudged rules={data.unjudgedRules} />
    </>
  );
}

/** `12 of 340 callers would be refused more often, and 3 would be refused less often.` */
export function sayVerdict({ total, newlyRefused, newlyAllowed }: Preview["callers"]): string {
  if (newlyRefused + newlyAllowed === 0)
    return `No difference: all ${formatCount(total)} callers would have got the same answers.`;
  const of = `${formatCount(newlyRefused)} of ${sayCallers(total)}`;
  const refused = newlyRefused === 0 ? "" : `${of} would be refused more often`;
  const few =
    newlyRefused === 0
      ? `${formatCount(newlyAllowed)} of ${sayCallers(total)}`
      : formatCount(newlyAllowed);
  const allowed = newlyAllowed === 0 ? "" : `${few} would be refused less often`;
  return `${[refused, allowed].filter(Boolean).join(", and ")}.`;
}

function sayCallers(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "caller" : "callers"}`;
}

function Rules({ rules }: { readonly rules: Preview["byRule"] }) {
  return (
    <Table
      label="Differences by rule"
      rows={rules.slice(0, SHOWN_MAX)}
      keyOf={({ rule }) => rule ?? ""}
      columns={[
        { name: "Rule", cell: ({ rule }) => <RuleName rule={rule} /> },
        { name: "Newly refused", isNumber: true, cell: (row) => formatCount(row.newlyRefused) },
        { name: "Newly allowed", isNumber: true, cell: (row) => formatCount(row.newlyAllowed) },
        { name: "Keys", isNumber: true, cell: ({ keys }) => formatCount(keys) },
      ]}
    />
  );
}

function Keys({ keys }: { readonly keys: Preview["byKey"] }) {
  const seesKeys = useSeesKeys();
  return (
    <Table
      label="Differences by key"
      rows={keys.slice(0, SHOWN_MAX)}
      keyOf={({ rule, key }) => `${rule} ${key}`}
      columns={[
        {
          name: "Key",
          cell: ({ rule, key }) =>
            key === null ? (
              "–"
            ) : (
              <KeyText
                value={key}
                lengthMax={KEY_LENGTH_MAX}
                href={rule === null || !seesKeys ? undefined : toKeyAddress(rule, key)}
              />
            ),
        },
        { name: "Rule", cell: ({ rule }) => <RuleName rule={rule} /> },
        { name: "Newly refused", isNumber: true, cell: (row) => formatCount(row.newlyRefused) },
        { name: "Newly allowed", isNumber: true, cell: (row) => formatCount(row.newlyAllowed) },
      ]}
    />
  );
}

function RuleName({ rule }: { readonly rule: string | null }) {
  return rule === null ? <span>blocked or denied</span> : <a href={toRuleAddress(rule)}>{rule}</a>;
}

function Unjudged({ rules }: { readonly rules: Preview["unjudgedRules"] }) {
  if (rules.length === 0) return null;
  return (
    <details class="rules-unjudged">
      <summary>
        This preview covers {rules.length === 1 ? "1 rule" : `${rules.length} rules`} only in part
      </summary>
      <ul>
        {rules.map(({ rule, why }) => (
          <li key={rule}>
            <strong>{rule}</strong>: {why}
          </li>
        ))}
      </ul>
    </details>
  );
}
