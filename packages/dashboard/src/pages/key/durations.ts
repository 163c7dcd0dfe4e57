// How long a block can last.

const FOREVER = "forever";

/** What a block can be made for. */
export const BLOCK_DURATIONS = [
  { value: "600000", name: "10 minutes" },
  { value: "3600000", name: "1 hour" },
  { value: "86400000", name: "1 day" },
  { value: "604800000", name: "7 days" },
  { value: FOREVER, name: "Until it is unblocked" },
];

/** Milliseconds of a choice; null: until it is unblocked. */
export function forMsOf(choice: string): number | null {
  return choice === FOREVER ? null : Number(choice);
}
