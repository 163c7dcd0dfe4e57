// The frame around every page: navigation, the theme, who is logged in.

import type { ComponentChildren } from "preact";
import { useLocation } from "preact-iso";
import { useKeepAlive } from "../api/keep-alive.js";
import { logOut, useSession } from "../api/session.js";
import { report } from "../ui/dialogs/toasts.js";
import { Button } from "../ui/forms/button.js";
import {
  AccessIcon,
  AuditIcon,
  KeyIcon,
  LiveIcon,
  Logo,
  PlaygroundIcon,
  QuotaIcon,
  RulesIcon,
} from "../ui/icons.js";
import { useCurrentInView } from "../ui/page/current-in-view.js";
import { ThemeButton } from "./theme.js";

const HOME = "/dashboard/";
const LINKS = [
  { href: HOME, name: "Live", Icon: LiveIcon },
  { href: "/dashboard/rules", name: "Rules", Icon: RulesIcon },
  { href: "/dashboard/key", name: "Key", Icon: KeyIcon },
  { href: "/dashboard/quotas", name: "Quotas", Icon: QuotaIcon },
  { href: "/dashboard/audit", name: "Audit", Icon: AuditIcon },
  { href: "/dashboard/access", name: "Access", Icon: AccessIcon },
  { href: "/dashboard/playground", name: "Playground", Icon: PlaygroundIcon },
];

interface FrameProps {
  readonly children: ComponentChildren;
  onLoggedOut(): void;
}

/** The navigation and a page. */
export function Frame({ children, onLoggedOut }: FrameProps) {
  useKeepAlive(useSession());
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="side">
        <a class="brand" href={HOME}>
          <Logo /> Sluice
        </a>
        <Navigation />
        <div class="side-end">
          <ThemeButton />
          <User onLoggedOut={onLoggedOut} />
        </div>
      </header>
      <main id="content" class="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Navigation() {
  const { path } = useLocation();
  return (
    <nav class="nav" aria-label="Pages" ref={useCurrentInView(path)}>
      {LINKS.map(({ href, name, Icon }) => (
        <a key={href} href={href} aria-current={isCurrent(href, path) ? "page" : undefined}>
          <Icon />
          <span>{name}</span>
        </a>
      ))}
    </nav>
  );
}

function isCurrent(href: string, path: string): boolean {
  if (href === HOME) return path === HOME || `${path}/` === HOME;
  return path === href || path.startsWith(`${href}/`);
}

function User({ onLoggedOut }: Pick<FrameProps, "onLoggedOut">) {
  const { name, role, csrfToken } = useSession();
  const end = () => {
    logOut().then(onLoggedOut, report);
  };
  return (
    <div class="user">
      <span class="user-name" title={`${name}, ${role}`}>
        {name} <small>{role}</small>
      </span>
      {csrfToken !== null && (
        <Button kind="quiet" isLeaving onClick={end}>
          Log out
        </Button>
      )}
    </div>
  );
}
