// What an operator does to a key of a rule. Each goes through the dialog that asks for a reason, and is in the audit log.

import { useState } from "preact/hooks";
import { ask } from "../../api/client.js";
import { wallMs } from "../../base/clock.js";
import { randomId } from "../../base/random-id.js";
import { Confirm } from "../../ui/dialogs/dialog.js";
import { done } from "../../ui/dialogs/toasts.js";
import { formatCount } from "../../ui/formats/format.js";
import { fromLocalTime, toLocalTime } from "../../ui/formats/local-time.js";
import { Field, Select } from "../../ui/forms/field.js";
import { KeyText } from "../../ui/text/key-text.js";
import { BLOCK_DURATIONS, forMsOf } from "./durations.js";
import type { Facts } from "./lookup.js";

/** What can be done to a key. */
export type KeyAction = "reset" | "block" | "unblock" | "grant" | "override";

/** A key of a rule. */
export interface Target {
  readonly rule: string;
  readonly key: string;
}

interface ActDialogProps {
  readonly target: Target;
  readonly facts: Facts;
  onClose(): void;
  onDone(): Promise<void>;
}

/** The dialog of an act. */
export function ActDialog({ act, ...props }: ActDialogProps & { readonly act: KeyAction }) {
  switch (act) {
    case "reset":
      return <ResetDialog {...props} />;
    case "block":
      return <BlockDialog {...props} />;
    case "unblock":
      return <UnblockDialog {...props} />;
    case "grant":
      return <GrantDialog {...props} />;
    case "override":
      return <OverrideDialog {...props} />;
  }
}

function ResetDialog({ target, onClose, onDone }: ActDialogProps) {
  const act = async (reason: string) => {
    await ask("reset", "/v1/reset", { method: "POST", body: { ...target, reason } });
    done(`The counter under ${target.rule} was reset.`);
    await onDone();
  };
  return (
    <Confirm title="Reset the counter" verb="Reset" onClose={onClose} onConfirm={act}>
      <p>
        What <KeyText value={target.key} /> has used under rule <b>{target.rule}</b> is forgotten,
        on every node that shares the store. Blocks stay.
      </p>
    </Confirm>
  );
}

function BlockDialog({ target, onClose, onDone }: ActDialogProps) {
  const [duration, setDuration] = useState("3600000");
  const act = async (reason: string) => {
    const body = { ...target, forMs: forMsOf(duration), reason };
    await ask("block", "/v1/block", { method: "POST", body });
    done(`The key is blocked under ${target.rule}.`);
    await onDone();
  };
  return (
    <Confirm title="Block the key" verb="Block" isDangerous onClose={onClose} onConfirm={act}>
      <p>
        Every request of <KeyText value={target.key} /> under rule <b>{target.rule}</b> is refused.
      </p>
      <Select label="For" value={duration} options={BLOCK_DURATIONS} onInput={setDuration} />
    </Confirm>
  );
}

function UnblockDialog({ target, onClose, onDone }: ActDialogProps) {
  const act = async (reason: string) => {
    await ask("unblock", "/v1/unblock", { method: "POST", body: { ...target, reason } });
    done(`The key is no longer blocked under ${target.rule}.`);
    await onDone();
  };
  return (
    <Confirm title="Unblock the key" verb="Unblock" onClose={onClose} onConfirm={act}>
      <p>
        Requests of <KeyText value={target.key} /> under rule <b>{target.rule}</b> are counted again
        as before.
      </p>
    </Confirm>
  );
}

function GrantDialog({ target, onClose, onDone }: ActDialogProps) {
  const [units, setUnits] = useState("1");
  // Made when the dialog opens: a second click grants nothing more.
  const [idempotencyKey] = useState(() => randomId());
  const cost = Number(units);
  const isValid = Number.isInteger(cost) && cost > 0;
  const act = async (reason: string) => {
    const { refunded } = await ask("refund", "/v1/refund", {
      method: "POST",
      body: { ...target, cost, reason },
      headers: { "Idempotency-Key": idempotencyKey },
    });
    done(
      refunded === 0
        ? "The key has used nothing, so there was nothing to refund."
        : `${formatCount(refunded)} units were refunded.`,
    );
    await onDone();
  };
  return (
    <Confirm
      title="Refund units"
      verb="Refund"
      isComplete={isValid}
      onClose={onClose}
      onConfirm={act}
    >
      <p>
        <KeyText value={target.key} /> gets units back under rule <b>{target.rule}</b>, at most what
        it has used.
      </p>
      <Field label="Units" type="number" min={1} step={1} value={units} onInput={setUnits} />
    </Confirm>
  );
}

const WEEK_MS = 7 * 86_400_000;

function OverrideDialog({ target, facts, onClose, onDone }: ActDialogProps) {
  const subjects = subjectsOf(facts);
  const [subject, setSubject] = useState(subjects[0]?.value ?? "");
  const [limit, setLimit] = useState("");
  const [end, setEnd] = useState(() => toLocalTime(wallMs() + WEEK_MS));
  const act = async (reason: string) => {
    const endsAtMs = fromLocalTime(end);
    await ask("override", "/v1/overrides", {
      method: "POST",
      body: {
        subject,
        rule: target.rule,
        limit: limit.trim(),
        reason,
        ...(endsAtMs && { endsAtMs }),
      },
    });
    done(`${subject} has other limits under ${target.rule}.`);
    await onDone();
  };
  return (
    <Confirm
      title={`Other limits under ${target.rule}`}
      verb="Override"
      isComplete={limit.trim() !== ""}
      onClose={onClose}
      onConfirm={act}
    >
      <Select label="For" value={subject} options={subjects} onInput={setSubject} />
      <Field
        label="Limit"
        value={limit}
        placeholder="100/minute"
        onInput={setLimit}
        hint="As in a rule: 100/minute, 5000/day, or unlimited."
      />
      <Field
        label="Until"
        type="datetime-local"
        value={end}
        onInput={setEnd}
        hint="In your time zone. Empty: until it is removed."
      />
    </Confirm>
  );
}

/** Whom an override can be for: addresses have none. */
function subjectsOf({ tenant, user, apiKeyId }: Facts) {
  const all = [
    ["apiKey", apiKeyId],
    ["user", user],
    ["tenant", tenant],
  ] as const;
  return all.flatMap(([kind, value]) =>
    value === undefined ? [] : [{ value: `${kind}:${value}`, name: `${kind}:${value}` }],
  );
}
