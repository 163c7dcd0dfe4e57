// One entry of the log: a sentence, and when it is opened, what changed. What an entry said before and after can be
// long, so it is asked for only then.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { useAnswer } from "../../api/use-answer.js";
import { Time } from "../../ui/formats/time.js";
import { Badge } from "../../ui/page/page.js";
import { Loaded } from "../../ui/page/states.js";
import { escapeUnseen, KeyText } from "../../ui/text/key-text.js";
import { EntityDiff } from "./entity-diff.js";

type AuditedChange = ReplyOf<"audit">["items"][number];

const KINDS_OF_ACTIONS: Readonly<Record<string, "good" | "bad" | "info">> = {
  create: "good",
  remove: "bad",
  revoke: "bad",
  block: "bad",
  publish: "info",
  rollback: "info",
};

/** An entry that can be opened. */
export function AuditEntry({ entry }: { readonly entry: AuditedChange }) {
  const { sequence, atMs, actor, origin, action, kind, entityId, reason } = entry;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
        <summary>
          <span class="audit-what">
            <Badge kind={KINDS_OF_ACTIONS[action] ?? "plain"}>{action}</Badge> {kind}{" "}
            <KeyText value={entityId} lengthMax={60} />
          </span>
          <span class="audit-who">
            <KeyText value={actor} lengthMax={40} /> · <Time atMs={atMs} />
          </span>
          {reason !== "" && (
            <span class="audit-why">
              <bdi>{escapeUnseen(reason)}</bdi>
            </span>
          )}
        </summary>
        {isOpen && <Changes sequence={sequence} />}
        <dl class="pairs audit-facts">
          <dt>Entry</dt>
          <dd>{sequence}</dd>
          <dt>From</dt>
          <dd>
            <KeyText value={origin} />
          </dd>
          <dt>Hash</dt>
          <dd>
            <code>{entry.hash}</code>
          </dd>
        </dl>
      </details>
    </li>
  );
}

function Changes({ sequence }: { readonly sequence: number }) {
  const answer = useAnswer("auditEntry", `/v1/audit/${sequence}`);
  return (
    <Loaded answer={answer}>
      {({ before, after }) => <EntityDiff before={before} after={after} />}
    </Loaded>
  );
}
