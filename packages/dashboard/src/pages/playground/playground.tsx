// The page Playground: traffic of any shape through every algorithm, side by side. The library itself decides, in the page.

import { useLocation } from "preact-iso";
import { PlaygroundView } from "./view/playground-view.js";

/** The page. */
export function Playground() {
  const { url } = useLocation();
  return <PlaygroundView url={url} />;
}
