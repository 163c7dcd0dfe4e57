// The description of the control plane: where a node gets its rules, plans, keys and the rest from.

import { optional, section } from "./fields.js";
import { duration } from "./shapes.js";
import { bearerToken, filePath, text } from "./strings.js";

const DAY_MS = 86_400_000;

/** Where the state comes from: a database, or a control node. */
export const controlSection = section({
  database: optional(
    text({
      what: "file:PATH for an SQLite file, or postgres://… for PostgreSQL",
      pattern: /^(?:file:|postgres(?:ql)?:\/\/)\P{Cc}+$/u,
      isSecret: true,
    }),
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
    "The access token that the follower shows to its control node. Needed with follow, and only there.",
  ),
  caFile: optional(
    filePath(),
    "The authorities that are trusted for an https URL in follow, as PEM; those that Node comes with if it is not said.",
  ),
  snapshot: optional(
    filePath(),
    "The file in which the node keeps its last state, so that it starts without the control plane; sluice-PORT.snapshot beside the configuration file if it is not said, with the port of admin.",
  ),
  staleMsMax: optional(
    duration({ min: 1_000, max: 30 * DAY_MS }),
    "How old the state may be before readiness fails; if it is not said, readiness never fails for that.",
  ),
  node: optional(
    text({ what: "1 to 100 letters, digits or _ - . :", pattern: /^[\w.:-]{1,100}$/ }),
    "The name of this node in GET /v1/nodes; the host name and the port of admin if it is not said.",
  ),
});
