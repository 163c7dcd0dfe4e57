// What would happen to a request of the caller, in a sentence, and what to do if it is refused.

import { formatDuration } from "../../ui/formats/format.js";
import { Badge } from "../../ui/page/page.js";
import { KeyText } from "../../ui/text/key-text.js";
import { sayKey } from "../rules/words.js";
import { judge } from "./judged.js";
import type { Facts } from "./lookup.js";
import { type Explanation, refusalOf } from "./words.js";

interface VerdictProps {
  readonly explanation: Explanation;
  readonly facts: Facts;
}

/** The answer that a request would get. */
export function Verdict({ explanation: whole, facts: { method, path } }: VerdictProps) {
  const { explanation, leftOut } = judge(whole);
  const names = leftOut.map(({ rule, keyType }) => `${rule} (${sayKey(keyType)})`);
  const shown = names.slice(0, LEFT_OUT_MAX).join(", ");
  const more = names.length > LEFT_OUT_MAX ? ` and ${names.length - LEFT_OUT_MAX} more` : "";
  return (
    <section class="card key-verdict" aria-label="What would happen now">
      {explanation === undefined ? (
        <p class="key-answer">
          <Badge>not known</Badge> No rule that matches <KeyText value={`${method} ${path}`} />{" "}
          counts this caller.
        </p>
      ) : (
        <Answer explanation={explanation} facts={{ method, path }} />
      )}
      {names.length > 0 && (
        <p class="note">
          Left out, since the look-up does not have what they count by: {shown}
          {more}.
        </p>
      )}
    </section>
  );
}

const LEFT_OUT_MAX = 5;

function Answer({ explanation, facts: { method, path } }: VerdictProps) {
  const refusal = refusalOf(explanation);
  const { allowed, delayMs } = explanation;
  const matching = explanation.rules.filter(({ isMatch }) => isMatch).length;
  return (
    <>
      <p class="key-answer">
        <Badge kind={allowed ? "good" : "bad"}>{allowed ? "allowed" : "refused"}</Badge>{" "}
        <span>
          <KeyText value={`${method} ${path}`} /> would be {allowed ? "allowed" : "refused"} now
          {allowed && delayMs > 0 && `, after waiting ${formatDuration(delayMs)}`}.
        </span>
      </p>
      {refusal === undefined ? (
        <p class="note">{`${countOf(matching)} this request. Nothing is charged by looking.`}</p>
      ) : (
        <>
          <p>{refusal.why}</p>
          <p class="note">{refusal.what}</p>
        </>
      )}
    </>
  );
}

function countOf(matching: number): string {
  if (matching === 0) return "No rule matches";
  return matching === 1 ? "One rule matches" : `${matching} rules match`;
}
