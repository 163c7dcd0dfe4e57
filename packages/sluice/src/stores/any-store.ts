// A store as an option of limiters, policies and middleware: every verb has to be there, so that a store of one's own
// fails when it is passed and not with its first refund.

import { show } from "../base/errors.js";
import type { Shape } from "../base/shapes/shapes.js";
import type { Store } from "./store.js";

const STORE_VERBS = [
  "decide",
  "peek",
  "debit",
  "settle",
  "refund",
  "block",
  "unblock",
  "reset",
  "close",
] as const satisfies readonly (keyof Store)[];

/** A store that was passed as an option. */
export const anyStore: Shape<Store> = {
  what: "a store such as memoryStore()",
  schema: {},
  read: (value, spot) => {
    const missing = STORE_VERBS.filter((verb) => !hasFunction(value, verb));
    if (missing.length === 0) return value as Store;
    const seen = `${show(value)}, which does not have ${missing.join(", ")}`;
    return spot.say(`must be ${anyStore.what}, got ${seen}`);
  },
};

function hasFunction(value: unknown, name: string): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Record<string, unknown>)[name] === "function"
  );
}
