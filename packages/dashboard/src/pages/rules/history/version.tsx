// One version of the rules: what it says, what it changed, and the way back to it.

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { ReplyOf } from "sluice-server/api";
import { ask } from "../../../api/client.js";
import { useMay } from "../../../api/session.js";
import { useAnswer } from "../../../api/use-answer.js";
import { Confirm } from "../../../ui/dialogs/dialog.js";
import { done } from "../../../ui/dialogs/toasts.js";
import { Time } from "../../../ui/formats/time.js";
import { Button } from "../../../ui/forms/button.js";
import { NeedsControlPlane } from "../../../ui/page/control-plane.js";
import { Card, Page } from "../../../ui/page/page.js";
import { Loaded } from "../../../ui/page/states.js";
import { CopyButton } from "../../../ui/text/copy.js";
import { escapeUnseen } from "../../../ui/text/key-text.js";
import { LongText } from "../../../ui/text/long-text.js";
import { HISTORY_ADDRESS, toEditAddress, toReviewAddress, toVersionAddress } from "../addresses.js";
import { RuleSetDiff } from "./rule-set-diff.js";
import { VersionState } from "./version-state.js";

type RuleSet = ReplyOf<"ruleSet">;

/** The page. */
export function Version({ number }: { readonly number: number }) {
  return (
    <Page
      title={`Version ${number} of the rules`}
      actions={
        <a class="button plain" href={HISTORY_ADDRESS}>
          History
        </a>
      }
    >
      <NeedsControlPlane what="Drafts and the history of rules">
        <Content number={number} />
      </NeedsControlPlane>
    </Page>
  );
}

function Content({ number }: { readonly number: number }) {
  const answer = useAnswer("ruleSet", `/v1/rule-sets/${number}`);
  return (
    <Loaded answer={answer} lines={10}>
      {(version) => (
        <div class="grid">
          <Card
            title={version.note === "" ? "No note" : escapeUnseen(version.note)}
            actions={<VersionState status={version.status} />}
            isWide
          >
            <Acts version={version} />
          </Card>
          <Changes version={version} />
          <Card title="The rules" actions={<CopyButton value={version.text} />} isWide>
            <LongText text={version.text} label="The rules" />
          </Card>
        </div>
      )}
    </Loaded>
  );
}

/** Compared with the version that it was made of. */
function Changes({ version: { number, basedOn } }: { readonly version: RuleSet }) {
  const hasBase = basedOn > 0 && basedOn !== number;
  const answer = useAnswer("ruleSetDiff", hasBase ? `/v1/rule-sets/${number}/diff` : undefined, {
    query: { from: basedOn },
  });
  if (!hasBase) return null;
  return (
    <Card title={`Compared with version ${basedOn}`} isWide>
      <Loaded answer={answer}>{(diff) => <RuleSetDiff diff={diff} />}</Loaded>
    </Card>
  );
}

/** Nothing of drafts, and of versions that an earlier release published. */
function Published({ version: { publishedAtMs, publishedBy } }: { readonly version: RuleSet }) {
  if (publishedAtMs === undefined) return null;
  return (
    <>
      Published <Time atMs={publishedAtMs} /> by <bdi>{escapeUnseen(publishedBy ?? "–")}</bdi>.
    </>
  );
}

function Acts({ version }: { readonly version: RuleSet }) {
  const { number, status } = version;
  const mayEdit = useMay("operator");
  const mayPublish = useMay("admin");
  const [isAsked, setIsAsked] = useState(false);
  if (status === "published")
    return (
      <p>
        These are the rules in force. <Published version={version} />
      </p>
    );
  if (status === "draft")
    return (
      <div class="rules-act">
        <p>A draft: nothing of it is enforced until it is published.</p>
        <div class="actions">
          {mayEdit && (
            <a class="button plain" href={toEditAddress(number)}>
              Edit
            </a>
          )}
          <a class="button primary" href={toReviewAddress(number)}>
            Preview
          </a>
        </div>
      </div>
    );
  return (
    <div class="rules-act">
      <p>
        It was in force until another version was published. <Published version={version} />
      </p>
      {mayPublish && (
        <Button kind="danger" onClick={() => setIsAsked(true)}>
          Roll back to it
        </Button>
      )}
      {isAsked && <RollBack number={number} onClose={() => setIsAsked(false)} />}
    </div>
  );
}

function RollBack({ number, onClose }: { readonly number: number; onClose(): void }) {
  const { route } = useLocation();
  const published = useAnswer("ruleSet", "/v1/rule-sets/published");
  const current = published.data?.number;
  return (
    <Confirm
      title={`Roll back to version ${number}?`}
      verb="Roll back"
      isDangerous
      isComplete={current !== undefined}
      onClose={onClose}
      onConfirm={async (reason) => {
        const made = await ask("ruleSet", `/v1/rule-sets/${number}/rollback`, {
          method: "POST",
          body: { note: `back to version ${number}: ${reason}`, reason, expected: current },
        });
        done(`Version ${made.number} is published, with the rules of version ${number}.`);
        route(toVersionAddress(made.number));
      }}
    >
      <p class="note">
        The rules of version {number} are published again, as a new version, and replace version{" "}
        {current ?? "…"} on every node.
      </p>
    </Confirm>
  );
}
