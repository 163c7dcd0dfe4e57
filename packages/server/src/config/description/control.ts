// The description of the control plane: where a node gets its rules, plans, keys and the rest from.

import { optional, section } from "./fields.js";
import { duration } from "./shapes.js";
import { bearerToken, databaseUrl, filePath, text } from "./strings.js";

const DAY_MS = 86_400_000;

/** Where the state comes from: a database, or a control node. */
export const controlSection = section({
  database: optional(
    databaseUrl(),
    "Makes this node a control node: the database of rule sets, plans, tenants, API keys and the rest. A path is relative to the configuration file.",
  ),
  follow: optional(
    text({
      what: "the URL of the admin port of a control node, such as https://control.example.com:9090",
      pattern: /^https?:\/\/(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::\d{1,5})?\/?$/,
      lengthMax: 512,
      toValue: (url) => (URL.canParse(url) ? new URL(url).origin : undefined),
    }),
    "Makes this node a follower, which needs no database: the control node that it follows.",
  ),
  token: optional(
    bearerToken(),
    "The access token that the follower sends to its control node. Required with follow, and allowed only there.",
  ),
  caFile: optional(
    filePath(),
    "The authorities that are trusted for an https URL in follow, as PEM; if omitted, those that Node.js includes.",
  ),
  snapshot: optional(
    filePath(),
    "The file in which the node keeps its last state, so that it can start without the control plane; if omitted, sluice-PORT.snapshot beside the configuration file, with the port of admin.",
  ),
  staleMsMax: optional(
    duration({ min: 1_000, max: 30 * DAY_MS }),
    "How old the state may be before readiness fails; if omitted, its age does not affect readiness.",
  ),
  node: optional(
    text({ what: "1 to 100 letters, digits or _ - . :", pattern: /^[\w.:-]{1,100}$/ }),
    "The name of this node in GET /v1/nodes; if omitted, the host name and the port of admin.",
  ),
});
