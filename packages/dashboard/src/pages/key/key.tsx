// The page Key: how one caller stands under the rules, why it would be refused, and what an operator can do about it.

import { useEffect, useState } from "preact/hooks";
import { useMay } from "../../api/session.js";
import { useAnswer } from "../../api/use-answer.js";
import { Page } from "../../ui/page/page.js";
import { Empty, Loaded } from "../../ui/page/states.js";
import { KeyText } from "../../ui/text/key-text.js";
import { useUrlQuery } from "../../ui/url-query.js";
import { CallerControls } from "./caller-controls.js";
import { History } from "./history.js";
import "./key.css";
import { requestToExplain } from "./judged.js";
import {
  type Facts,
  factsOfApiKey,
  factsOfKey,
  isDigest,
  type Lookup,
  lookupOf,
} from "./lookup.js";
import { LookupForm } from "./lookup-form.js";
import { OtherNodes } from "./other-nodes.js";
import { RuleCards } from "./rule-cards.js";
import { RulesOfKey } from "./rules-of-key.js";
import { Verdict } from "./verdict.js";

const EVERY_MS = 2_000;

/** The page. */
export function Key() {
  const [query] = useUrlQuery();
  const lookup = lookupOf(query);
  return (
    <Page
      title="Key"
      lead="Look up a caller: how it stands under every rule, why it would be refused, and what to do about it."
    >
      <LookupForm key={JSON.stringify([lookup, query.method, query.path])} lookup={lookup} />
      {lookup === undefined ? (
        <Empty title="Look up a caller">
          <p>
            An address, a user, an API key or a tenant. The lists of the page{" "}
            <a href="/dashboard/">Live</a> lead here too.
          </p>
        </Empty>
      ) : (
        <Found lookup={lookup} />
      )}
    </Page>
  );
}

function Found({ lookup }: { readonly lookup: Lookup }) {
  if (lookup.by === "caller")
    return lookup.kind === "apiKey" ? (
      <FoundApiKey id={lookup.value} />
    ) : (
      <Explained lookup={lookup} facts={{ [lookup.kind]: lookup.value }} />
    );
  if (isDigest(lookup.key))
    return (
      <>
        <Empty title="This is only a hash of a key">
          <p>
            Viewers see keys as hashes, and a hash can't be looked up:{" "}
            <KeyText value={lookup.key} />. Ask an operator, or look the caller up above.
          </p>
        </Empty>
        <History counterKey={lookup.key} isDigest />
      </>
    );
  const facts = factsOfKey(lookup.key);
  return facts === undefined ? (
    <RulesOfKey rule={lookup.rule} counterKey={lookup.key} />
  ) : (
    <Explained lookup={lookup} facts={facts} />
  );
}

const ID_LENGTH = 12;

/** A key of the control plane has a tenant, whose limits hold for it; of others only the hash is known. */
function FoundApiKey({ id }: { readonly id: string }) {
  const path = id.length === ID_LENGTH ? `/v1/api-keys/${encodeURIComponent(id)}` : undefined;
  const answer = useAnswer("apiKey", path);
  const lookup: Lookup = { by: "caller", kind: "apiKey", value: id };
  if (path === undefined) return <Explained lookup={lookup} facts={factsOfApiKey(id)} />;
  return (
    <Loaded answer={answer} lines={6}>
      {({ tenant, countedAs, name }) => (
        <>
          <p class="note key-whose">
            API key <b>{name}</b> of tenant{" "}
            <a href={`/dashboard/key?tenant=${encodeURIComponent(tenant)}`}>{tenant}</a>
            {countedAs !== undefined && `, counted together with ${countedAs}, which it replaced`}.
          </p>
          <Explained lookup={lookup} facts={{ apiKeyId: countedAs ?? id, tenant }} />
        </>
      )}
    </Loaded>
  );
}

interface ExplainedProps {
  readonly lookup: Lookup;
  readonly facts: Partial<Facts>;
}

function Explained({ lookup, facts }: ExplainedProps) {
  const [query] = useUrlQuery();
  const [counted, setCounted] = useState<Partial<Facts>>();
  const request: Facts = {
    ...facts,
    method: query.method ?? counted?.method ?? facts.method ?? "GET",
    path: query.path ?? counted?.path ?? facts.path ?? "/",
  };
  const maySeeKeys = useMay("operator");
  const [changeCount, setChangeCount] = useState(0);
  const body = { facts: request, counters: true };
  const answer = useAnswer("explain", "/v1/explain", { body, everyMs: EVERY_MS });
  // The caller was looked up without a request: one that is counted says more than GET /.
  const isOpen = query.method === undefined && query.path === undefined && counted === undefined;
  useEffect(() => {
    if (!isOpen || answer.data === undefined) return;
    const { method, path } =
      requestToExplain(answer.data.rules, lookup.by === "key" ? lookup.rule : "") ?? {};
    setCounted({ ...(method && { method }), ...(path && { path }) });
  }, [answer.data, isOpen]);
  const changed = async () => {
    setChangeCount((count) => count + 1);
    await answer.reload();
  };
  return (
    <Loaded answer={answer} lines={10}>
      {(explanation) => {
        const rules = inOrder(explanation.rules, lookup);
        const counterKey = rules.find(({ key }) => key !== null)?.key;
        return (
          <>
            <Verdict explanation={explanation} facts={request} />
            <CallerControls facts={request} changeCount={changeCount} onChanged={changed} />
            <RuleCards rules={rules} facts={request} onChanged={changed} />
            <OtherNodes facts={request} />
            {maySeeKeys && counterKey != null && <History counterKey={counterKey} />}
          </>
        );
      }}
    </Loaded>
  );
}

/** The rule that a link was about first, then those that match. */
function inOrder<R extends { readonly rule: string; readonly isMatch: boolean }>(
  rules: readonly R[],
  lookup: Lookup,
): readonly R[] {
  const asked = lookup.by === "key" ? lookup.rule : "";
  const rank = ({ rule, isMatch }: R) => (rule === asked ? 0 : isMatch ? 1 : 2);
  return [...rules].sort((a, b) => rank(a) - rank(b));
}
