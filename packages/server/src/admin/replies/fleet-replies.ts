// What a control node answers about all of its nodes.

import { finiteNumber, flag, orNull, required } from "sluice/shapes";
import { amount, many, open, text } from "./reply-shapes.js";

/** Which nodes an answer covers; null where there are no followers to ask. */
export const coverage = open({
  inAll: required(finiteNumber, "This node and its followers that are connected."),
  covered: required(finiteNumber, "Of them, those whose part is in the answer."),
  silent: required(many(text), "Some that have not answered in time, by name."),
  elsewhere: required(finiteNumber, "Nodes of other control nodes, which are asked there."),
});

/** How a request stands on nodes that count in other stores. */
export const standings = open({
  nodes: required(orNull(coverage), "Which nodes it covers."),
  node: required(orNull(text), "The name of this node."),
  store: required(text, "The kind of its store."),
  sharing: required(finiteNumber, "Other nodes that count in the same store."),
  elsewhere: required(
    many(
      open({
        node: required(text),
        store: required(text),
        allowed: required(flag),
        rule: required(orNull(text), "The rule that binds."),
        counters: required(
          many(
            open({
              rule: required(text),
              key: required(text),
              limit: required(finiteNumber),
              remaining: required(finiteNumber),
              resetMs: required(amount),
              wouldPass: required(flag),
              blockedMs: required(amount),
            }),
          ),
        ),
      }),
    ),
    "Nodes that count in another store, and how the request stands there.",
  ),
});
