// The trail of one rule: each condition met or not, what the request is counted by, whose numbers hold, and what each
// limit would do.

import type { ComponentChildren } from "preact";
import { Time } from "../../ui/formats/time.js";
import { KeyText } from "../../ui/text/key-text.js";
import {
  conditionName,
  type ExplainedRule,
  limitSentence,
  notAppliedOf,
  sourceOf,
} from "./words.js";

/** The steps by which a rule comes to its answer. */
export function Trail({ rule }: { readonly rule: ExplainedRule }) {
  const notApplied = notAppliedOf(rule);
  const source = sourceOf(rule);
  return (
    <ol class="trail">
      {rule.conditions.length === 0 && <Step isMet>The rule matches every request.</Step>}
      {rule.conditions.map(({ on, wanted, isMet }) => (
        <Step key={`${on} ${wanted}`} isMet={isMet}>
          {conditionName(on)} must be <KeyText value={wanted} />
        </Step>
      ))}
      {notApplied !== undefined && <Step isMet={rule.notApplied !== "refused"}>{notApplied}</Step>}
      {rule.key !== null && (
        <Step isMet>
          Counted by {rule.keyType}: <KeyText value={rule.key} />
        </Step>
      )}
      {source !== undefined && (
        <Step isMet>
          {source}
          {rule.exception?.endsAtMs != null && (
            <>
              {" "}
              They end <Time atMs={rule.exception.endsAtMs} />.
            </>
          )}
        </Step>
      )}
      {rule.isMatch &&
        rule.limits.map((limit, at) => (
          <Step key={at} isMet={limit.wouldPass}>
            {limitSentence(limit)}
          </Step>
        ))}
      {rule.blockedMs !== 0 && <Step isMet={false}>The key is blocked under this rule.</Step>}
      {!rule.isMatch && (
        <Step isMet={false}>
          So the rule does not match this request; its counter is shown anyway.
        </Step>
      )}
      {rule.isMatch && rule.onExceed === "shadow" && (
        <Step isMet>The rule is in shadow mode: it counts requests and refuses none.</Step>
      )}
    </ol>
  );
}

function Step({ isMet, children }: { readonly isMet: boolean; children: ComponentChildren }) {
  return (
    <li class={isMet ? "met" : "unmet"}>
      <span class="visually-hidden">{isMet ? "Yes: " : "No: "}</span>
      <span>{children}</span>
    </li>
  );
}
