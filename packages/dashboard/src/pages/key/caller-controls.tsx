// What the control plane says of a caller, whatever the rule: blocks of it and overrides for it, each with who it is
// for, until when and why.

import { useEffect, useState } from "preact/hooks";
import { ask } from "../../api/client.js";
import { useMay } from "../../api/session.js";
import { useAnswer } from "../../api/use-answer.js";
import { wallMs } from "../../base/clock.js";
import { Confirm } from "../../ui/dialogs/dialog.js";
import { type Removal, RemoveDialog } from "../../ui/dialogs/remove-dialog.js";
import { done } from "../../ui/dialogs/toasts.js";
import { Time } from "../../ui/formats/time.js";
import { Button } from "../../ui/forms/button.js";
import { Select } from "../../ui/forms/field.js";
import { useHasControlPlane } from "../../ui/page/control-plane.js";
import { Card } from "../../ui/page/page.js";
import { KeyText } from "../../ui/text/key-text.js";
import { BLOCK_DURATIONS, forMsOf } from "./durations.js";
import type { Facts } from "./lookup.js";

interface CallerControlsProps {
  readonly facts: Facts;
  /** How often something was changed on the page: it asks again then. */
  readonly changeCount: number;
  onChanged(): Promise<void>;
}

/** Blocks and overrides of the caller; nothing without a control plane. */
export function CallerControls({ facts, ...rest }: CallerControlsProps) {
  const subject = subjectOf(facts);
  const hasControlPlane = useHasControlPlane();
  if (!hasControlPlane || subject === undefined) return null;
  return <Controls subject={subject} {...rest} />;
}

const PAGE = 200;

interface ControlsProps extends Omit<CallerControlsProps, "facts"> {
  readonly subject: string;
}

function Controls({ subject, changeCount, onChanged }: ControlsProps) {
  const mayAct = useMay("operator");
  const [isBlocking, setIsBlocking] = useState(false);
  const [removal, setRemoval] = useState<Removal>();
  const blocks = useAnswer("blocks", "/v1/blocks", { query: { limit: PAGE } });
  const overrides = useAnswer("overrides", "/v1/overrides", { query: { subject, limit: PAGE } });
  const own = (blocks.data?.items ?? []).filter(({ subjects }) => subjects.includes(subject));
  useEffect(() => {
    if (changeCount > 0) void Promise.all([blocks.reload(), overrides.reload()]);
  }, [changeCount]);
  return (
    <Card
      title="Blocks and overrides"
      isWide
      actions={
        mayAct && (
          <Button kind="danger" onClick={() => setIsBlocking(true)}>
            Block everywhere
          </Button>
        )
      }
    >
      <ul class="key-controls">
        {own.map(({ id, revision, reason, endsAtMs, subjects }) => (
          <Control
            key={id}
            what={
              subjects.length === 1
                ? "Blocked everywhere"
                : `Blocked with ${subjects.length - 1} others`
            }
            {...{ reason, endsAtMs }}
            onRemove={mayAct ? () => setRemoval(toRemoval("block", { id, revision })) : undefined}
          />
        ))}
        {(overrides.data?.items ?? []).map(({ id, revision, rule, limit, reason, endsAtMs }) => (
          <Control
            key={id}
            what={`${JSON.stringify(limit).replaceAll('"', "")} under ${rule}`}
            {...{ reason, endsAtMs }}
            onRemove={
              mayAct ? () => setRemoval(toRemoval("override", { id, revision })) : undefined
            }
          />
        ))}
        {own.length === 0 && overrides.data?.items.length === 0 && (
          <li class="note">
            <KeyText value={subject} /> is not blocked by itself and has no limits of its own.
          </li>
        )}
      </ul>
      {isBlocking && (
        <BlockEverywhere
          subject={subject}
          onClose={() => setIsBlocking(false)}
          onDone={onChanged}
        />
      )}
      {removal !== undefined && (
        <RemoveDialog removal={removal} onClose={() => setRemoval(undefined)} onDone={onChanged} />
      )}
    </Card>
  );
}

interface ControlProps {
  readonly what: string;
  readonly reason: string;
  readonly endsAtMs: number | undefined;
  readonly onRemove: (() => void) | undefined;
}

function Control({ what, reason, endsAtMs, onRemove }: ControlProps) {
  return (
    <li>
      <span>
        <b>{what}</b>,{" "}
        {endsAtMs === undefined ? (
          "until it is removed"
        ) : (
          <>
            ends <Time atMs={endsAtMs} />
          </>
        )}
        : {reason}
      </span>
      {onRemove !== undefined && <Button onClick={onRemove}>Remove</Button>}
    </li>
  );
}

function toRemoval(
  name: "block" | "override",
  { id, revision }: { readonly id: string; readonly revision: number },
): Removal {
  return {
    path: `/v1/${name}s/${id}`,
    revision,
    title: `Remove the ${name}`,
    verb: "Remove",
    children: "It ends on every node within two seconds.",
    doneText: `The ${name} was removed.`,
  };
}

interface BlockEverywhereProps {
  readonly subject: string;
  onClose(): void;
  onDone(): Promise<void>;
}

function BlockEverywhere({ subject, onClose, onDone }: BlockEverywhereProps) {
  const [duration, setDuration] = useState("3600000");
  const act = async (reason: string) => {
    const forMs = forMsOf(duration);
    const body = {
      subjects: [subject],
      reason,
      ...(forMs === null ? {} : { endsAtMs: wallMs() + forMs }),
    };
    await ask("blockEntry", "/v1/blocks", { method: "POST", body });
    done(`${subject} is blocked everywhere.`);
    await onDone();
  };
  return (
    <Confirm title="Block everywhere" verb="Block" isDangerous onClose={onClose} onConfirm={act}>
      <p>
        Every node refuses every request of <KeyText value={subject} />, whatever the rules say.
      </p>
      <Select label="For" value={duration} options={BLOCK_DURATIONS} onInput={setDuration} />
    </Confirm>
  );
}

/** The most characters of a caller in the control plane. */
const SUBJECT_LENGTH_MAX = 300;

/** The caller as blocks and overrides name it; undefined if they can't. */
function subjectOf(facts: Facts): string | undefined {
  const subject = toSubject(facts);
  return subject === undefined || subject.length > SUBJECT_LENGTH_MAX ? undefined : subject;
}

function toSubject({ ip, user, tenant, apiKeyId }: Facts): string | undefined {
  if (apiKeyId !== undefined) return `apiKey:${apiKeyId}`;
  if (user !== undefined) return `user:${user}`;
  if (tenant !== undefined) return `tenant:${tenant}`;
  return ip === undefined ? undefined : `ip:${ip}`;
}
