// A tab of the page: a list that is asked page by page, narrowed by the URL, with the dialogs that make, change and remove
// what is in it.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ReplyName, ReplyOf } from "sluice-server/api";
import { type Role, useMay } from "../../api/session.js";
import { useAnswer } from "../../api/use-answer.js";
import { type Removal, RemoveDialog } from "../../ui/dialogs/remove-dialog.js";
import { Button } from "../../ui/forms/button.js";
import { Card } from "../../ui/page/page.js";
import { Loaded } from "../../ui/page/states.js";
import { Pager } from "../../ui/tables/pager.js";
import { type Column, Table } from "../../ui/tables/table.js";
import { useUrlQuery } from "../../ui/url-query.js";
import { type Filter, Filters } from "./filters.js";

const PAGE = 50;

/** How a dialog ends: closed, and once before if what it is for was done. */
export interface DialogEnds {
  onClose(): void;
  onDone(): Promise<void>;
}

/** A dialog that is open. */
type OpenDialog = (ends: DialogEnds) => ComponentChildren;

/** What can be done to a row: by a dialog, or by removing it. */
export interface RowAct {
  /** What the button says. */
  readonly verb: string;
  /** What it does to which row, for screen readers. */
  readonly label: string;
  readonly open: OpenDialog | Removal;
}

/** Lists that a tab can show. */
type ListName = {
  [N in ReplyName]: ReplyOf<N> extends { items: readonly { id: string }[]; next: string | null }
    ? N
    : never;
}[ReplyName];
type ItemOf<N extends ListName> = ReplyOf<N>["items"][number];

interface ListTabProps<N extends ListName> {
  readonly title: string;
  /** One sentence about what it is. */
  readonly lead: string;
  readonly reply: N;
  readonly path: string;
  readonly filters?: readonly Filter[];
  /** Who may make and change rows; others see neither the buttons nor the last column. */
  readonly changedBy: Role;
  /** What the button says that makes a row: `New plan`. */
  readonly newName: string;
  readonly newDialog: OpenDialog;
  readonly columns: readonly Column<ItemOf<N>>[];
  acts(row: ItemOf<N>): readonly RowAct[];
  readonly empty: string;
  /** What is shown once no dialog is open, such as a new secret. */
  readonly children?: ComponentChildren;
}

/** The tab. */
export function ListTab<N extends ListName>(props: ListTabProps<N>) {
  const { title, filters = [], newDialog } = props;
  const [url] = useUrlQuery();
  const narrowed = Object.fromEntries(filters.map(({ name }) => [name, url[name]]));
  const query = { ...narrowed, after: url.after, limit: PAGE };
  const answer = useAnswer(props.reply, props.path, { query });
  const mayAct = useMay(props.changedBy);
  // In an object: a function would be called for the next state.
  const [dialog, setDialog] = useState<{ readonly show: OpenDialog }>();
  const open = (show: OpenDialog) => setDialog({ show });
  return (
    <Card
      title={title}
      actions={mayAct && <Button onClick={() => open(newDialog)}>{props.newName}</Button>}
      isWide
    >
      <p class="note access-lead">{props.lead}</p>
      {filters.length > 0 && <Filters filters={filters} />}
      <Loaded answer={answer} lines={5}>
        {({ items, next }) => (
          <>
            <Table<ItemOf<N>>
              label={title}
              columns={mayAct ? [...props.columns, actsColumn(props.acts, open)] : props.columns}
              rows={items}
              keyOf={({ id }) => id}
              empty={props.empty}
            />
            <Pager next={next} />
          </>
        )}
      </Loaded>
      {dialog === undefined
        ? props.children
        : dialog.show({ onClose: () => setDialog(undefined), onDone: answer.reload })}
    </Card>
  );
}

function actsColumn<Row>(
  actsOf: (row: Row) => readonly RowAct[],
  onOpen: (dialog: OpenDialog) => void,
): Column<Row> {
  return {
    name: "",
    cell: (row) => (
      <div class="actions access-acts">
        {actsOf(row).map(({ verb, label, open }) => (
          <Button
            key={verb}
            label={label}
            kind={typeof open === "function" ? "plain" : "danger"}
            onClick={() => onOpen(typeof open === "function" ? open : toDialog(open))}
          >
            {verb}
          </Button>
        ))}
      </div>
    ),
  };
}

function toDialog(removal: Removal): OpenDialog {
  return (ends) => <RemoveDialog removal={removal} {...ends} />;
}
