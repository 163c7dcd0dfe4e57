// The parts that pages are made of: a heading with its actions, and cards.

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface PageProps {
  readonly title: string;
  /** One sentence under the heading. */
  readonly lead?: ComponentChildren;
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A page with its heading; the title of the window is the same. */
export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{title}</h1>
          {lead !== undefined && <p class="lead">{lead}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

interface CardProps {
  readonly title?: string;
  readonly actions?: ComponentChildren;
  /** Takes the whole width of the page. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** A part of a page, with a heading of its own. */
export function Card({ title, actions, isWide = false, children }: CardProps) {
  return (
    <section class={isWide ? "card wide" : "card"} aria-label={title}>
      {(title !== undefined || actions !== undefined) && (
        <div class="card-head">
          {title !== undefined && <h2>{title}</h2>}
          {actions !== undefined && <div class="actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** A word with a colour: a state. */
export function Badge({
  kind = "plain",
  children,
}: {
  readonly kind?: "plain" | "good" | "bad" | "warn" | "info";
  readonly children: ComponentChildren;
}) {
  return <span class={`badge ${kind}`}>{children}</span>;
}

/** A number with its name and unit, in the size of a headline. */
export function Figure({
  name,
  value,
  note,
  kind = "plain",
}: {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
  readonly kind?: "plain" | "good" | "bad" | "warn" | "info";
}) {
  return (
    <div class={`figure ${kind}`}>
      <span class="figure-name">{name}</span>
      <span class="figure-value">{value}</span>
      <span class="figure-note">{note}</span>
    </div>
  );
}
