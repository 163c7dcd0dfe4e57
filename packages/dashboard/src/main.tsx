// The entry of the dashboard.

import "./base/history-moves.js";
import { render } from "preact";
import { App } from "./app/app.js";
import "./style/tokens.css";
import "./style/base.css";
import "./style/layout.css";
import "./style/charts.css";
import "./style/texts.css";
import "./style/parts.css";

render(<App />, document.getElementById("app") as HTMLElement);
