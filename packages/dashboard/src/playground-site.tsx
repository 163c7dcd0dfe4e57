// The entry of the playground as a site of its own: static files, without a service behind them.

import { render } from "preact";
import { ThemeButton } from "./app/theme.js";
import { PlaygroundView } from "./pages/playground/view/playground-view.js";
import { Toasts } from "./ui/dialogs/toasts.js";
import { Logo } from "./ui/icons.js";
import "./style/tokens.css";
import "./style/base.css";
import "./style/layout.css";
import "./style/charts.css";
import "./style/texts.css";
import "./style/parts.css";
import "./style/site.css";

/** The whole site. */
function Site() {
  return (
    <>
      <header class="site-head">
        <a class="brand" href="./">
          <Logo /> Sluice
        </a>
        <ThemeButton />
      </header>
      <main class="content site-content">
        <PlaygroundView url={location.href} />
      </main>
      <Toasts />
    </>
  );
}

render(<Site />, document.getElementById("app") as HTMLElement);
