// Corrects a quota: a top-up, or an adjustment of what is left. What is sent twice is made once.

import { useMemo, useState } from "preact/hooks";
import { ask } from "../../api/client.js";
import { randomId } from "../../base/random-id.js";
import { Confirm } from "../../ui/dialogs/dialog.js";
import { done } from "../../ui/dialogs/toasts.js";
import { formatCount } from "../../ui/formats/format.js";
import { fromLocalTime } from "../../ui/formats/local-time.js";
import { Field } from "../../ui/forms/field.js";

/** How a quota is corrected. */
export type CorrectionVerb = "grant" | "adjust";

interface CorrectionDialogProps {
  readonly verb: CorrectionVerb;
  readonly tenant: string;
  readonly meter: string;
  onClose(): void;
  onDone(): Promise<void>;
}

/** Asks for units and a reason. */
export function CorrectionDialog({ verb, tenant, meter, onClose, onDone }: CorrectionDialogProps) {
  const [units, setUnits] = useState("");
  const [end, setEnd] = useState("");
  // The same content keeps its key, so that a second click corrects nothing more.
  const idempotencyKey = useMemo(randomId, [units, end]);
  const isGrant = verb === "grant";
  const amount = Number(units);
  const isValid =
    units.trim() !== "" && Number.isInteger(amount) && (isGrant ? amount > 0 : amount !== 0);
  const act = async (reason: string) => {
    const endsAtMs = isGrant ? fromLocalTime(end) : undefined;
    const path = `/v1/quotas/${encodeURIComponent(tenant)}/${encodeURIComponent(meter)}`;
    const { balance } = await ask("correction", `${path}/${isGrant ? "grants" : "adjustments"}`, {
      method: "POST",
      body: { units: amount, reason, ...(endsAtMs !== undefined && { expiresAtMs: endsAtMs }) },
      headers: { "Idempotency-Key": idempotencyKey },
    });
    done(`${tenant} has ${formatCount(balance)} units of ${meter} left.`);
    await onDone();
  };
  return (
    <Confirm
      title={isGrant ? `Top up ${meter} of ${tenant}` : `Adjust ${meter} of ${tenant}`}
      verb={isGrant ? "Top up" : "Adjust"}
      isComplete={isValid}
      onClose={onClose}
      onConfirm={act}
    >
      <Field
        label="Units"
        type="number"
        step={1}
        {...(isGrant ? { min: 1 } : {})}
        value={units}
        onInput={setUnits}
        hint={isGrant ? "On top of the quota." : "Added to what is left; below zero takes units."}
      />
      {isGrant && (
        <Field
          label="Expires"
          type="datetime-local"
          value={end}
          onInput={setEnd}
          hint="In your time zone. Empty: at the end of the period."
        />
      )}
    </Confirm>
  );
}
