// Tabs: links, so that each has a URL of its own.

import { useCurrentInView } from "./current-in-view.js";

interface TabsProps {
  /** What they lead to, for screen readers. */
  readonly label: string;
  readonly tabs: readonly { readonly href: string; readonly name: string }[];
  /** The link of the tab that is open. */
  readonly current: string;
}

/** A row of tabs. */
export function Tabs({ label, tabs, current }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label} ref={useCurrentInView(current)}>
      {tabs.map(({ href, name }) => (
        <a key={href} href={href} aria-current={href === current ? "page" : undefined}>
          {name}
        </a>
      ))}
    </nav>
  );
}
