// When a key or a token ends: a choice of durations, and how it is shown.

import { wallMs } from "../../base/clock.js";
import { Time, useNow } from "../../ui/formats/time.js";
import { Select } from "../../ui/forms/field.js";
import { Badge } from "../../ui/page/page.js";

const DAY_MS = 86_400_000;
const OPTIONS = [
  { value: "", name: "Never" },
  { value: String(7 * DAY_MS), name: "In 7 days" },
  { value: String(30 * DAY_MS), name: "In 30 days" },
  { value: String(90 * DAY_MS), name: "In 90 days" },
  { value: String(365 * DAY_MS), name: "In a year" },
];

interface ExpirySelectProps {
  readonly value: string;
  onInput(value: string): void;
}

/** A choice of when something ends. */
export function ExpirySelect(props: ExpirySelectProps) {
  return <Select label="Expires" options={OPTIONS} {...props} />;
}

/** The field of a body for a choice: nothing if it does not end. */
export function toExpiry(choice: string): { readonly expiresAtMs?: number } {
  return choice === "" ? {} : { expiresAtMs: wallMs() + Number(choice) };
}

/** When something ends, or that it has. */
export function Expiry({ atMs }: { readonly atMs: number | undefined }) {
  const nowMs = useNow();
  if (atMs === undefined) return <span>never</span>;
  return (
    <span>
      <Time atMs={atMs} /> {atMs <= nowMs && <Badge kind="bad">expired</Badge>}
    </span>
  );
}
