// The view that the URL names, and its results. The URL follows every change; going back goes back.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { after } from "../../../base/clock.js";
import { type Results, toResults } from "../model/results.js";
import type { Settings } from "../model/settings.js";
import { fromQuery, type PlaygroundView, toQuery } from "../model/view-url.js";

/** How long after a change the results follow: dragging a slider does not run every value on its way. */
const SETTLE_MS = 40;
/** How long after a change the URL follows: browsers limit how often it may change. */
const URL_MS = 250;

/** The view and what it shows. */
export interface ShownView {
  readonly view: PlaygroundView;
  readonly results: Results;
  /** Changes settings; the cursor goes where the page chooses. */
  change(settings: Partial<Settings>): void;
  /** Changes the view. */
  show(view: Partial<PlaygroundView>): void;
}

/** The view that a URL names. `url` changes when a link leads here. */
export function useView(url: string): ShownView {
  const [view, setView] = useState(() => fromQuery(location.search));
  const written = useRef(url);
  useEffect(() => {
    if (url === written.current) return;
    written.current = url;
    setView(fromQuery(location.search));
  }, [url]);
  useEffect(() => {
    const read = () => setView(fromQuery(location.search));
    addEventListener("popstate", read);
    return () => removeEventListener("popstate", read);
  }, []);
  useEffect(() => after(URL_MS, () => writeUrl(view)), [view]);
  const show = useCallback(
    (changed: Partial<PlaygroundView>) => setView((before) => ({ ...before, ...changed })),
    [],
  );
  const change = useCallback(
    (settings: Partial<Settings>) =>
      setView((before) => ({
        ...before,
        settings: { ...before.settings, ...settings },
        at: undefined,
      })),
    [],
  );
  const settled = useSettled(view);
  const { settings, log } = settled;
  const results = useMemo(() => toResults(settings, log), [settings, log]);
  return { view, results, change, show };
}

function useSettled(view: PlaygroundView): PlaygroundView {
  const [settled, setSettled] = useState(view);
  useEffect(() => after(SETTLE_MS, () => setSettled(view)), [view]);
  return settled;
}

function writeUrl(view: PlaygroundView): void {
  const query = toQuery(view);
  const search = query === "" ? "" : `?${query}`;
  if (search === location.search) return;
  const shapeOf = (text: string) => fromQuery(text).settings.shape;
  const url = `${location.pathname}${search}`;
  // Another shape is another view, to which the back button leads.
  if (shapeOf(search) === shapeOf(location.search)) history.replaceState(history.state, "", url);
  else history.pushState(null, "", url);
}
