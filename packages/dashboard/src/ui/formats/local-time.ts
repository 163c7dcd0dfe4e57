// Times in fields of the type datetime-local, in the time zone of the browser.

/** `2026-11-16T12:42`. */
export function toLocalTime(atMs: number): string {
  const offsetMs = new Date(atMs).getTimezoneOffset() * 60_000;
  return new Date(atMs - offsetMs).toISOString().slice(0, 16);
}

/** Unix milliseconds; undefined for an empty field. */
export function fromLocalTime(text: string): number | undefined {
  const atMs = new Date(text).getTime();
  return Number.isNaN(atMs) ? undefined : atMs;
}
