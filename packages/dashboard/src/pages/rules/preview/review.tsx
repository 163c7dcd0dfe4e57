// A draft before it is published: what it would have done to the traffic of the last minutes, what it changes, and the
// button that publishes it.

import type { ReplyOf } from "sluice-server/api";
import { useMay } from "../../../api/session.js";
import { useAnswer } from "../../../api/use-answer.js";
import { NeedsControlPlane } from "../../../ui/page/control-plane.js";
import { Card, Page } from "../../../ui/page/page.js";
import { Loaded } from "../../../ui/page/states.js";
import { toEditAddress, toVersionAddress } from "../addresses.js";
import { TextDiff } from "../edit/text-diff-box.js";
import { RuleSetDiff } from "../history/rule-set-diff.js";
import { PreviewCard, usePreview } from "./preview-card.js";
import { PublishCard } from "./publish-card.js";

type RuleSet = ReplyOf<"ruleSet">;

/** The page. */
export function Review({ number }: { readonly number: number }) {
  const mayEdit = useMay("operator");
  return (
    <Page
      title={`Draft ${number}`}
      lead="What it would have done, what it changes, and then the button that publishes it."
      actions={
        mayEdit && (
          <a class="button plain" href={toEditAddress(number)}>
            Edit
          </a>
        )
      }
    >
      <NeedsControlPlane what="Drafts and the history of rules">
        <Content number={number} />
      </NeedsControlPlane>
    </Page>
  );
}

function Content({ number }: { readonly number: number }) {
  const draft = useAnswer("ruleSet", `/v1/rule-sets/${number}`);
  const published = useAnswer("ruleSets", "/v1/rule-sets", {
    query: { status: "published", limit: 1 },
  });
  const current = published.data?.items[0]?.number;
  const base = useAnswer("ruleSet", current === undefined ? undefined : `/v1/rule-sets/${current}`);
  return (
    <Loaded answer={draft} lines={12}>
      {(version) =>
        version.status === "draft" ? (
          <Loaded answer={published}>
            {() => <Draft draft={version} current={current ?? 0} base={base.data} />}
          </Loaded>
        ) : (
          <p class="notice">
            Version {number} is {version.status} already.{" "}
            <a href={toVersionAddress(number)}>See it in the history</a>
          </p>
        )
      }
    </Loaded>
  );
}

interface DraftProps {
  readonly draft: RuleSet;
  /** The published version; 0 if there is none. */
  readonly current: number;
  readonly base: RuleSet | undefined;
}

function Draft({ draft, current, base }: DraftProps) {
  const preview = usePreview(draft);
  return (
    <div class="grid">
      <PreviewCard preview={preview} />
      {current > 0 && (
        <Changes
          draft={draft}
          current={current}
          base={base}
          isUsable={preview.data !== undefined}
        />
      )}
      <PublishCard draft={draft} current={current} preview={preview} />
    </div>
  );
}

interface ChangesProps extends DraftProps {
  /** Only rules that can be used have a meaning to compare. */
  readonly isUsable: boolean;
}

function Changes({ draft, current, base, isUsable }: ChangesProps) {
  const path = isUsable ? `/v1/rule-sets/${draft.number}/diff` : undefined;
  const diff = useAnswer("ruleSetDiff", path, { query: { from: current } });
  return (
    <Card title={`Compared with version ${current}, which is published`} isWide>
      {isUsable && <Loaded answer={diff}>{(data) => <RuleSetDiff diff={data} />}</Loaded>}
      {base !== undefined && (
        <div class="rules-review-diff">
          <TextDiff
            before={{ name: `Version ${current}`, text: base.text }}
            after={{ name: `Draft ${draft.number}`, text: draft.text }}
          />
        </div>
      )}
    </Card>
  );
}
