// The versions of the rules: drafts, the published one, and those before it.

import { useLocation } from "preact-iso";
import { useMay } from "../../../api/session.js";
import { useAnswer } from "../../../api/use-answer.js";
import { Time } from "../../../ui/formats/time.js";
import { NeedsControlPlane } from "../../../ui/page/control-plane.js";
import { Badge, Card, Page } from "../../../ui/page/page.js";
import { Loaded } from "../../../ui/page/states.js";
import { Table } from "../../../ui/tables/table.js";
import { escapeUnseen } from "../../../ui/text/key-text.js";
import { HISTORY_ADDRESS, RULES_ADDRESS, toEditAddress, toVersionAddress } from "../addresses.js";
import { type VersionHead, VersionState } from "./version-state.js";

const PAGE_SIZE = 50;
/** The most versions on a page, drafts included. */
const PAGE_MAX = 500;

/** The page. */
export function History() {
  const mayEdit = useMay("operator");
  return (
    <Page
      title="History of the rules"
      lead="What was published never changes. Rolling back publishes an earlier version again, as a new one."
      actions={
        <>
          <a class="button plain" href={RULES_ADDRESS}>
            All rules
          </a>
          {mayEdit && (
            <a class="button primary" href={toEditAddress()}>
              Edit rules
            </a>
          )}
        </>
      }
    >
      <NeedsControlPlane what="Drafts and the history of rules">
        <Versions />
      </NeedsControlPlane>
    </Page>
  );
}

/** Numbers count up, and the latest come first: `until` is the number that a page of earlier ones begins with. */
function Versions() {
  const { query } = useLocation();
  const published = useAnswer("ruleSets", "/v1/rule-sets", {
    query: { limit: 1, status: "published" },
  });
  return (
    <Loaded answer={published}>
      {({ items }) => {
        const until = Number(query.until) || undefined;
        // Drafts have greater numbers than the published version that they are based on.
        return <VersionPage after={(until ?? items[0]?.number ?? 0) - PAGE_SIZE} until={until} />;
      }}
    </Loaded>
  );
}

interface VersionPageProps {
  readonly after: number;
  readonly until: number | undefined;
}

function VersionPage({ after, until }: VersionPageProps) {
  const answer = useAnswer("ruleSets", "/v1/rule-sets", {
    query: { after: Math.max(0, after), limit: PAGE_MAX },
  });
  return (
    <Card isWide>
      <Loaded answer={answer} lines={8}>
        {({ items }) => {
          const rows = items.filter(({ number }) => until === undefined || number <= until);
          return (
            <>
              <Table
                label="Versions of the rules"
                rows={[...rows].reverse()}
                keyOf={({ number }) => String(number)}
                columns={[
                  {
                    name: "Version",
                    cell: ({ number }: VersionHead) => (
                      <a href={toVersionAddress(number)}>Version {number}</a>
                    ),
                  },
                  { name: "State", cell: ({ status }) => <VersionState status={status} /> },
                  {
                    name: "Published",
                    cell: ({ publishedAtMs }) =>
                      publishedAtMs === undefined ? "–" : <Time atMs={publishedAtMs} />,
                  },
                  {
                    name: "By",
                    cell: ({ publishedBy }) => <bdi>{escapeUnseen(publishedBy ?? "–")}</bdi>,
                  },
                  {
                    name: "Note",
                    cell: ({ note }) => <bdi>{note === "" ? "–" : escapeUnseen(note)}</bdi>,
                  },
                  {
                    name: "Based on",
                    isNumber: true,
                    cell: ({ basedOn }) => (basedOn === 0 ? "–" : basedOn),
                  },
                ]}
                empty={<Badge>No versions yet</Badge>}
              />
              {after > 0 && (
                <p class="rules-pages">
                  <a class="button plain" href={`${HISTORY_ADDRESS}?until=${after}`}>
                    Earlier versions
                  </a>
                </p>
              )}
            </>
          );
        }}
      </Loaded>
    </Card>
  );
}
