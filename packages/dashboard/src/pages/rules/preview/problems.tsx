// Why a draft can't be used.

import type { RuleProblem } from "../../../api/client.js";

/** What is wrong with rules, line by line. */
export function Problems({ problems }: { readonly problems: readonly RuleProblem[] }) {
  return (
    <div role="alert">
      <p>
        <strong>These rules can't be used yet.</strong> Edit the draft and fix these problems:
      </p>
      <ul class="rules-diff">
        {problems.map(({ line, message }) => (
          <li key={`${line} ${message}`}>
            {line !== undefined && <b>Line {line}: </b>}
            {message}
          </li>
        ))}
      </ul>
    </div>
  );
}
