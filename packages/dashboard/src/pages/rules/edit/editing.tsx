// The page of the editor: a new draft of the published rules, or a draft by its number. Saving keeps a draft; nothing is
// enforced before it is previewed and published.

import type { ComponentChildren } from "preact";
import { useCallback, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { ReplyOf } from "sluice-server/api";
import { ApiError, ask } from "../../../api/client.js";
import { useMay } from "../../../api/session.js";
import { useAnswer } from "../../../api/use-answer.js";
import { LeaveGuard } from "../../../ui/dialogs/leave-guard.js";
import { done, report } from "../../../ui/dialogs/toasts.js";
import { Button } from "../../../ui/forms/button.js";
import { NeedsControlPlane, useHasControlPlane } from "../../../ui/page/control-plane.js";
import { Page } from "../../../ui/page/page.js";
import { Loaded } from "../../../ui/page/states.js";
import { HISTORY_ADDRESS, toEditAddress, toReviewAddress, toVersionAddress } from "../addresses.js";
import { ConflictDialog } from "./conflict-dialog.js";
import { EditorBox } from "./editor-box.js";

type RuleSet = ReplyOf<"ruleSet">;

/** What the editor starts with, if there are no rules yet. */
const FIRST_RULES = `version: 1
rules:
  - id: login
    match: { path: /login, methods: POST }
    key: ip
    limit: 5/minute
`;

/** The page. */
export function Editing({ draft }: { readonly draft: number | undefined }) {
  const hasControlPlane = useHasControlPlane();
  if (!hasControlPlane)
    return (
      <Page title="Edit rules">
        <NeedsControlPlane what="Drafts and the history of rules">{null}</NeedsControlPlane>
      </Page>
    );
  return draft === undefined ? <NewDraft /> : <KnownDraft key={draft} number={draft} />;
}

function NewDraft() {
  const published = useAnswer("ruleSets", "/v1/rule-sets", {
    query: { status: "published", limit: 1 },
  });
  const number = published.data?.items[0]?.number;
  const answer = useAnswer("ruleSet", number === undefined ? undefined : `/v1/rule-sets/${number}`);
  if (published.data !== undefined && number === undefined)
    return <DraftEditor draft={undefined} text={FIRST_RULES} title="The first rules" />;
  return (
    <Loading answer={number === undefined ? published : answer} title="New draft">
      {() => (
        <DraftEditor
          draft={undefined}
          text={answer.data?.text ?? ""}
          title={`New draft of version ${number}`}
        />
      )}
    </Loading>
  );
}

function KnownDraft({ number }: { readonly number: number }) {
  const answer = useAnswer("ruleSet", `/v1/rule-sets/${number}`);
  return (
    <Loading answer={answer} title={`Draft ${number}`}>
      {() => {
        const version = answer.data as RuleSet;
        const isDraft = version.status === "draft";
        return (
          <DraftEditor
            draft={isDraft ? version : undefined}
            text={version.text}
            title={isDraft ? `Draft ${number}` : `New draft of version ${number}`}
          />
        );
      }}
    </Loading>
  );
}

function Loading({
  answer,
  title,
  children,
}: {
  readonly answer: Parameters<typeof Loaded>[0]["answer"];
  readonly title: string;
  children(): ComponentChildren;
}) {
  if (answer.data !== undefined) return <>{children()}</>;
  return (
    <Page title={title} lead=" ">
      <Loaded answer={answer} lines={12}>
        {() => null}
      </Loaded>
    </Page>
  );
}

interface DraftEditorProps {
  /** Undefined until it is saved for the first time. */
  readonly draft: RuleSet | undefined;
  readonly text: string;
  readonly title: string;
}

/** A draft in the editor. */
function DraftEditor({ draft, text: given, title }: DraftEditorProps) {
  const { route, query } = useLocation();
  const maySave = useMay("operator");
  const [saved, setSaved] = useState(draft);
  const [text, setText] = useState(given);
  const [shown, setShown] = useState({ text: given, turn: 0 });
  const [theirs, setTheirs] = useState<RuleSet>();
  const [isBusy, setIsBusy] = useState(false);
  const isDirty = saved === undefined ? text !== given : text !== saved.text;
  const save = useCallback(
    async (revision?: number): Promise<RuleSet | undefined> => {
      setIsBusy(true);
      try {
        const kept = await keep(saved, text, revision);
        setSaved(kept);
        setTheirs(undefined);
        // The address names the draft from now on; the page stays as it is.
        if (saved === undefined) history.replaceState(null, "", toEditAddress(kept.number));
        done(`Draft ${kept.number} is saved. Nothing of it is enforced yet.`);
        return kept;
      } catch (error) {
        if (saved !== undefined && error instanceof ApiError && error.status === 409)
          setTheirs(await ask("ruleSet", `/v1/rule-sets/${saved.number}`).catch(() => undefined));
        else report(error);
        return undefined;
      } finally {
        setIsBusy(false);
      }
    },
    [saved, text],
  );
  const preview = async () => {
    const kept = isDirty || saved === undefined ? await save() : saved;
    if (kept !== undefined) route(toReviewAddress(kept.number));
  };
  return (
    <Page
      title={saved === undefined ? title : `Draft ${saved.number}`}
      lead={
        isDirty ? "Not saved yet." : saved === undefined ? "As published." : "Saved as a draft."
      }
      actions={
        <>
          <a class="button plain" href={HISTORY_ADDRESS}>
            History
          </a>
          {maySave && (
            <>
              <Button isBusy={isBusy} isDisabled={!isDirty} onClick={() => void save()}>
                Save draft
              </Button>
              <Button kind="primary" isBusy={isBusy} onClick={() => void preview()}>
                Preview
              </Button>
            </>
          )}
        </>
      }
    >
      {saved !== undefined && saved.status !== "draft" && (
        <p class="notice">
          Version {saved.number} is {saved.status}.{" "}
          <a href={toVersionAddress(saved.number)}>See it in the history</a>
        </p>
      )}
      <EditorBox
        key={shown.turn}
        text={shown.text}
        line={shown.turn === 0 ? Number(query.line) || undefined : undefined}
        isReadOnly={!maySave}
        onChange={setText}
        onSave={() => void save()}
      />
      <LeaveGuard isDirty={isDirty} />
      {theirs !== undefined && (
        <ConflictDialog
          mine={text}
          theirs={theirs}
          onClose={() => setTheirs(undefined)}
          onKeepMine={() => void save(theirs.revision)}
          onTakeTheirs={() => {
            setSaved(theirs);
            setText(theirs.text);
            setShown(({ turn }) => ({ text: theirs.text, turn: turn + 1 }));
            setTheirs(undefined);
          }}
        />
      )}
    </Page>
  );
}

/** @throws ApiError 409 if the draft was edited meanwhile. */
function keep(
  saved: RuleSet | undefined,
  text: string,
  revision = saved?.revision,
): Promise<RuleSet> {
  if (saved === undefined || revision === undefined)
    return ask("ruleSet", "/v1/rule-sets", { method: "POST", body: { text } });
  const path = `/v1/rule-sets/${saved.number}`;
  return ask("ruleSet", path, { method: "PUT", body: { text }, ifMatch: revision });
}
