// The keys that a rule with `escalate` blocks now, by the node that is asked: how often each was blocked, and for how long it
// still is. Each leads to the page Key, where an operator can unblock it.

import type { ReplyOf } from "sluice-server/api";
import { CLEAR_KEYS, useSeesKeys } from "../../../api/session.js";
import { useAnswer } from "../../../api/use-answer.js";
import { formatDuration } from "../../../ui/formats/format.js";
import { Card } from "../../../ui/page/page.js";
import { Loaded } from "../../../ui/page/states.js";
import { type Column, Table } from "../../../ui/tables/table.js";
import { KeyText } from "../../../ui/text/key-text.js";
import { toKeyAddress } from "../addresses.js";

type BlockedKey = ReplyOf<"escalations">["items"][number];

const SHOWN = 10;
const KEY_LENGTH_MAX = 40;

interface BlockedKeysProps {
  readonly rule: string;
  /** What the title says of whose keys these are, where there are several nodes. */
  readonly where: string;
  readonly everyMs: number;
}

/** The card. */
export function BlockedKeys({ rule, where, everyMs }: BlockedKeysProps) {
  const seesKeys = useSeesKeys();
  const answer = useAnswer("escalations", "/v1/escalations", {
    query: { rule, limit: SHOWN, keys: seesKeys ? "clear" : undefined },
    ...(seesKeys && { headers: CLEAR_KEYS }),
    everyMs,
  });
  return (
    <Card title={`Blocked keys${where}`}>
      <Loaded answer={answer} lines={2}>
        {({ items }) => (
          <Table
            label="Blocked keys"
            rows={items}
            keyOf={({ key }) => key}
            columns={columnsOf(rule, seesKeys)}
            empty="No key is blocked for exceeding this limit again and again."
          />
        )}
      </Loaded>
    </Card>
  );
}

function columnsOf(rule: string, seesKeys: boolean): readonly Column<BlockedKey>[] {
  return [
    {
      name: "Key",
      cell: ({ key }) => (
        <KeyText
          value={key}
          lengthMax={KEY_LENGTH_MAX}
          href={seesKeys ? toKeyAddress(rule, key) : undefined}
        />
      ),
    },
    { name: "Level", isNumber: true, cell: ({ level }) => level },
    { name: "Ends in", isNumber: true, cell: ({ blockedMs }) => formatDuration(blockedMs) },
  ];
}
