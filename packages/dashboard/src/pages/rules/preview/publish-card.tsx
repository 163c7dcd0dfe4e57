// Publishes a draft, after its preview: with a note, and only if the version that it was compared with is still the
// published one.

import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import type { ReplyOf } from "sluice-server/api";
import { ApiError, ask } from "../../../api/client.js";
import { useMay } from "../../../api/session.js";
import { Confirm } from "../../../ui/dialogs/dialog.js";
import { done } from "../../../ui/dialogs/toasts.js";
import { formatCount } from "../../../ui/formats/format.js";
import { Button } from "../../../ui/forms/button.js";
import { Field } from "../../../ui/forms/field.js";
import { Card } from "../../../ui/page/page.js";
import { toVersionAddress } from "../addresses.js";
import { type Previewed, sayVerdict } from "./preview-card.js";

interface PublishCardProps {
  readonly draft: ReplyOf<"ruleSet">;
  /** The published version; 0 if there is none. */
  readonly current: number;
  readonly preview: Previewed;
}

/** The card with the button. */
export function PublishCard({ draft, current, preview }: PublishCardProps) {
  const mayPublish = useMay("admin");
  const [isAsked, setIsAsked] = useState(false);
  const isUsable = preview.problems.length === 0;
  if (!mayPublish)
    return (
      <Card title="Publish" isWide>
        <p>
          Publishing needs the role admin. Ask an admin to open this page, or to run{" "}
          <code>sluice rules publish {draft.number}</code>.
        </p>
      </Card>
    );
  return (
    <Card title="Publish" isWide>
      <div class="rules-act">
        <p>
          Every node enforces a published draft within two seconds. To undo it, roll back in the
          history.
        </p>
        <Button
          kind="primary"
          isDisabled={!isUsable || preview.isLoading}
          onClick={() => setIsAsked(true)}
        >
          Publish…
        </Button>
      </div>
      {isAsked && (
        <PublishDialog
          draft={draft}
          current={current}
          preview={preview}
          onClose={() => setIsAsked(false)}
        />
      )}
    </Card>
  );
}

function PublishDialog({
  draft,
  current,
  preview: { data },
  onClose,
}: PublishCardProps & { onClose(): void }) {
  const { route } = useLocation();
  const [note, setNote] = useState("");
  const refused = data?.requests.newlyRefused ?? 0;
  const publish = async (reason: string) => {
    const body = { note: note.trim(), expected: current, ...(reason !== "" && { reason }) };
    const path = `/v1/rule-sets/${draft.number}/publish`;
    try {
      const { number } = await ask("ruleSet", path, { method: "POST", body });
      done(`Version ${number} is published.`);
      route(toVersionAddress(number));
    } catch (error) {
      if (error instanceof ApiError && error.status === 409)
        throw new Error(
          "Another version was published meanwhile. Load this page again to compare with it.",
        );
      throw error;
    }
  };
  return (
    <Confirm
      title={`Publish draft ${draft.number}?`}
      verb="Publish"
      needsReason={false}
      isDangerous={refused > 0}
      isComplete={note.trim() !== ""}
      onClose={onClose}
      onConfirm={publish}
    >
      <p class="note">
        {data === undefined || data.requests.total === 0
          ? "There was no traffic to judge by."
          : sayVerdict(data.callers)}
        {refused > 0 && ` ${formatCount(refused)} requests would have been refused that were not.`}
      </p>
      <Field
        label="Note"
        value={note}
        onInput={setNote}
        isRequired
        hint="What is new, for people who read the history."
      />
    </Confirm>
  );
}
