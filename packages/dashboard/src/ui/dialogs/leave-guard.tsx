// Asks before unsaved changes are lost: by a link, by the buttons of the browser, or by closing the page. What was asked
// about is done again once the user agrees.

import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { beforeHistoryMoves } from "../../base/history-moves.js";
import { Button } from "../forms/button.js";
import { Dialog } from "./dialog.js";

interface LeaveGuardProps {
  /** Whether there is something to lose. */
  readonly isDirty: boolean;
}

/** Nothing, until the user is about to leave. */
export function LeaveGuard({ isDirty }: LeaveGuardProps) {
  const [leave, setLeave] = useState<() => void>();
  const [isAgreed, setIsAgreed] = useState(false);
  const isGuarding = isDirty && !isAgreed;
  // Before the page shows that something is unsaved, so that no click comes first.
  useLayoutEffect(
    () => (isGuarding ? guard((act) => setLeave(() => act)) : undefined),
    [isGuarding],
  );
  // Only now nothing stops it any more.
  useEffect(() => {
    if (isAgreed) leave?.();
  }, [isAgreed]);
  if (leave === undefined || isAgreed) return null;
  return (
    <Dialog title="Leave without saving?" onClose={() => setLeave(undefined)}>
      <p>Your changes are not saved. If you leave this page, they are lost.</p>
      <div class="dialog-end">
        <Button kind="quiet" onClick={() => setLeave(undefined)}>
          Keep editing
        </Button>
        <Button kind="danger" onClick={() => setIsAgreed(true)}>
          Discard changes
        </Button>
      </div>
    </Dialog>
  );
}

/** Stops what would leave the page, and calls `onLeave` with what does it. Returns what ends that. */
function guard(onLeave: (leave: () => void) => void): () => void {
  const address = location.href;
  const onClick = (event: MouseEvent) => {
    const link = leavingLinkOf(event);
    if (link === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onLeave(() => link.click());
  };
  const onPopState = (event: PopStateEvent) => {
    event.stopImmediatePropagation();
    // The browser has moved already. This puts the page back in front of where it went, so that going back leads there.
    history.pushState(null, "", address);
    onLeave(() => history.back());
  };
  const onUnload = (event: BeforeUnloadEvent) => event.preventDefault();
  addEventListener("click", onClick, true);
  addEventListener("beforeunload", onUnload);
  const end = beforeHistoryMoves(onPopState);
  return () => {
    removeEventListener("click", onClick, true);
    removeEventListener("beforeunload", onUnload);
    end();
  };
}

/** The link that a click follows in this tab, or the button that ends the session; undefined for other clicks. */
function leavingLinkOf(event: MouseEvent): HTMLElement | undefined {
  const hasModifier = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;
  if (hasModifier || event.button !== 0) return undefined;
  return event.composedPath().find(isLeaving);
}

function isLeaving(target: EventTarget): target is HTMLElement {
  if (target instanceof HTMLAnchorElement)
    return target.target === "" && !target.download && target.getAttribute("href")?.[0] !== "#";
  return target instanceof HTMLElement && target.dataset.leaves !== undefined;
}
