// Icons, drawn with lines in the colour of the text. All are decoration: the text beside them says what they mean.

import type { ComponentChildren } from "preact";

function Icon({ children }: { readonly children: ComponentChildren }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {children}
    </svg>
  );
}

/** The sign of Sluice: a gate that lets some through. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" />
      <path d="M7 10h18M7 16h11M7 22h18" />
      <path class="logo-drop" d="M22 13v6" />
    </svg>
  );
}

export const LiveIcon = () => (
  <Icon>
    <path d="M3 12h4l3-8 4 16 3-8h4" />
  </Icon>
);
export const RulesIcon = () => (
  <Icon>
    <path d="M4 6h16M4 12h10M4 18h16M18 10v4" />
  </Icon>
);
export const KeyIcon = () => (
  <Icon>
    <circle cx="11" cy="11" r="6" />
    <path d="m20 20-4.5-4.5" />
  </Icon>
);
export const QuotaIcon = () => (
  <Icon>
    <path d="M4 20V10M10 20V4M16 20v-8M21 20H3" />
  </Icon>
);
export const AuditIcon = () => (
  <Icon>
    <path d="M6 3h9l4 4v14H6zM9 12h7M9 16h7" />
  </Icon>
);
export const AccessIcon = () => (
  <Icon>
    <path d="M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z" />
  </Icon>
);
export const PlaygroundIcon = () => (
  <Icon>
    <path d="M8 5v14l11-7z" />
  </Icon>
);
