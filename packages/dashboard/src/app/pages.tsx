// Which page a URL names. All but the first are loaded when they are opened.

import { lazy, Route, Router, useLocation } from "preact-iso";
import { Live } from "../pages/live/live.js";
import { Empty } from "../ui/page/states.js";

const Rules = lazy(() => import("../pages/rules/rules.js").then(({ Rules: page }) => page));
const Key = lazy(() => import("../pages/key/key.js").then(({ Key: page }) => page));
const Quotas = lazy(() => import("../pages/quotas/quotas.js").then(({ Quotas: page }) => page));
const Audit = lazy(() => import("../pages/audit/audit.js").then(({ Audit: page }) => page));
const Access = lazy(() => import("../pages/access/access.js").then(({ Access: page }) => page));
const Playground = lazy(() =>
  import("../pages/playground/playground.js").then(({ Playground: page }) => page),
);

/** The page that the URL names. */
export function Pages() {
  const { path } = useLocation();
  // The router would throw.
  if (!isDecodable(path)) return <Missing />;
  return (
    <Router>
      <Route path="/dashboard/" component={Live} />
      <Route path="/dashboard/rules/:rest*" component={Rules} />
      <Route path="/dashboard/key/:rest*" component={Key} />
      <Route path="/dashboard/quotas/:rest*" component={Quotas} />
      <Route path="/dashboard/audit" component={Audit} />
      <Route path="/dashboard/access/:rest*" component={Access} />
      <Route path="/dashboard/playground" component={Playground} />
      <Route default component={Missing} />
    </Router>
  );
}

/** Whether each part of a path is text: `/dashboard/rules/%E0` has one that is not. */
function isDecodable(path: string): boolean {
  try {
    // The result is used: the bundler removes calls of which it knows no effect.
    return decodeURIComponent(path) !== "";
  } catch {
    return false;
  }
}

function Missing() {
  return (
    <Empty title="There is no such page">
      <a href="/dashboard/">Go to the live page</a>
    </Empty>
  );
}
