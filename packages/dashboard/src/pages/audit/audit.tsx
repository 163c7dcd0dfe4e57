// The page Audit: who changed what, when, from where and why, with what it said before and after.

import { useState } from "preact/hooks";
import type { ReplyOf } from "sluice-server/api";
import { type ApiError, ask } from "../../api/client.js";
import { useAnswer } from "../../api/use-answer.js";
import { formatCount } from "../../ui/formats/format.js";
import { Button } from "../../ui/forms/button.js";
import { NeedsControlPlane } from "../../ui/page/control-plane.js";
import { Card, Page } from "../../ui/page/page.js";
import { Empty, Loaded, Problem } from "../../ui/page/states.js";
import { Pager } from "../../ui/tables/pager.js";
import { useUrlQuery } from "../../ui/url-query.js";
import "./audit.css";
import { AuditEntry } from "./audit-entry.js";
import { AuditFilters } from "./audit-filters.js";

const PAGE = 50;
const FILTERS = ["actor", "action", "kind", "id", "from", "to", "after"] as const;

/** The page. */
export function Audit() {
  return (
    <Page
      title="Audit"
      lead="Who changed what, when, from where and why. Each entry carries a hash of the one before it."
    >
      <NeedsControlPlane what="The entries of the audit log">
        <Log />
      </NeedsControlPlane>
    </Page>
  );
}

function Log() {
  const [url] = useUrlQuery();
  const asked = Object.fromEntries(FILTERS.map((name) => [name, url[name]]));
  const answer = useAnswer("audit", "/v1/audit", {
    query: { ...asked, limit: PAGE, bodies: "none" },
  });
  return (
    <>
      <AuditFilters key={JSON.stringify({ ...asked, after: "" })} />
      <Card title="Entries" isWide actions={<Verify />}>
        <Loaded answer={answer} lines={8}>
          {({ items, next }) => (
            <>
              {items.length === 0 && (
                <Empty title="There is no such entry">
                  <p>Change the filters, or make a change: every one of them is listed here.</p>
                </Empty>
              )}
              <ol class="audit-list">
                {items.map((entry) => (
                  <AuditEntry key={entry.sequence} entry={entry} />
                ))}
              </ol>
              <Pager next={next} />
            </>
          )}
        </Loaded>
      </Card>
    </>
  );
}

type Report = ReplyOf<"auditReport">;

/** Checks the chain of hashes, and says what it found. */
function Verify() {
  const [isBusy, setIsBusy] = useState(false);
  const [report, setReport] = useState<Report>();
  const [error, setError] = useState<ApiError>();
  const verify = async () => {
    setIsBusy(true);
    setError(undefined);
    try {
      setReport(await ask("auditReport", "/v1/audit/verify"));
    } catch (failed) {
      setError(failed as ApiError);
    }
    setIsBusy(false);
  };
  return (
    <div class="actions" aria-live="polite">
      {report !== undefined && <Finding {...report} />}
      {error !== undefined && <Problem error={error} />}
      <Button isBusy={isBusy} onClick={() => void verify()}>
        Verify the chain
      </Button>
    </div>
  );
}

function Finding({ valid, rows, problem }: Report) {
  return valid ? (
    <span class="audit-valid">The chain is intact: {formatCount(rows)} entries were checked.</span>
  ) : (
    <span class="problem" role="alert">
      Altered: {problem}. Compare the database with a backup.
    </span>
  );
}
