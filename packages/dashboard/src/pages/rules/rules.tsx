// The page Rules: the list, one rule, the editor, the preview before a publish, and the history.

import { lazy, useLocation } from "preact-iso";
import { Page } from "../../ui/page/page.js";
import { Empty } from "../../ui/page/states.js";
import { RULES_ADDRESS, readRulesView } from "./addresses.js";
import { History } from "./history/history.js";
import { Version } from "./history/version.js";
import { RuleList } from "./list/rule-list.js";
import { RulePage } from "./rule/rule-page.js";
import "./rules.css";

const Editing = lazy(() => import("./edit/editing.js").then(({ Editing: page }) => page));
const Review = lazy(() => import("./preview/review.js").then(({ Review: page }) => page));

/** The page. */
export function Rules() {
  const { path } = useLocation();
  const view = readRulesView(path);
  switch (view.kind) {
    case "list":
      return <RuleList />;
    case "rule":
      return <RulePage key={view.id} id={view.id} />;
    case "history":
      return <History />;
    case "version":
      return <Version key={view.number} number={view.number} />;
    case "edit":
      return <Editing draft={view.draft} />;
    case "review":
      return <Review key={view.number} number={view.number} />;
    case "missing":
      return (
        <Page title="Rules">
          <Empty title="There is no such page">
            <a href={RULES_ADDRESS}>See all rules</a>
          </Empty>
        </Page>
      );
  }
}
