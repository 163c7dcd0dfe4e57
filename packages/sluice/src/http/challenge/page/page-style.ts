// The style of the challenge page: light and dark, readable at any size, without motion for those who want none.

/** CSS. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: #1c2430; --paper: #f6f7f9; --accent: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --paper: #14181f; --accent: #7db8f5; } }
* { box-sizing: border-box; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem;
  background: var(--paper); color: var(--ink); font: 1.0625rem/1.5 system-ui, sans-serif; }
main { max-width: 34rem; width: 100%; }
h1 { font-size: 1.5rem; margin: 0 0 .5rem; }
p { margin: .5rem 0; }
progress { width: 100%; height: .75rem; accent-color: var(--accent); }
button { font: inherit; padding: .5rem 1rem; border-radius: .375rem; border: 1px solid var(--accent);
  background: transparent; color: var(--accent); cursor: pointer; }
button:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
[hidden] { display: none; }
`;
