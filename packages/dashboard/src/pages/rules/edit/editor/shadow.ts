// A shadow root for CodeMirror. In the document it would add style elements, which the page's Content-Security-Policy
// refuses; in a shadow root it uses constructed style sheets.

/** Where an editor goes. */
export interface ShadowPlace {
  readonly root: ShadowRoot;
  readonly parent: HTMLElement;
}

/** An empty place within an element, whatever was there. */
export function toShadowPlace(host: HTMLElement): ShadowPlace {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const parent = document.createElement("div");
  root.replaceChildren(parent);
  return { root, parent };
}
