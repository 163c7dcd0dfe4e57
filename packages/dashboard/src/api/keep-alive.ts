// A session ends after a time without use. Reading a page is use too, so a page on which the mouse or the keyboard was
// used says so once a minute.

import { useEffect } from "preact/hooks";
import { every } from "../base/clock.js";
import { ask } from "./client.js";
import type { Session } from "./session.js";

const EVERY_MS = 60_000;
const EVENTS = ["pointerdown", "pointermove", "keydown", "wheel"] as const;

/** Prolongs a session while its page is used. */
export function useKeepAlive(session: Session): void {
  const hasSession = session.csrfToken !== null;
  useEffect(() => (hasSession ? keepAlive() : undefined), [hasSession]);
}

function keepAlive(): () => void {
  let isUsed = false;
  const note = () => {
    isUsed = true;
  };
  for (const event of EVENTS) addEventListener(event, note, { passive: true });
  const stop = every(EVERY_MS, () => {
    // If it fails, the next question of the page says so.
    if (isUsed) ask("session", "/v1/session").catch(() => {});
    isUsed = false;
  });
  return () => {
    stop();
    for (const event of EVENTS) removeEventListener(event, note);
  };
}
