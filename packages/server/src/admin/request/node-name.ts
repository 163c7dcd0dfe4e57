// The names of nodes, as they come in and as lists show them.

import { stringFor } from "sluice/shapes";

const NAME = /^[\w.:-]+$/;
const NAME_LENGTH_MAX = 100;
const LISTED_NAME = /^[\w.:-]+(~\d+)?$/;
const LISTED_NAME_LENGTH_MAX = 110;

/** The name of a node: names are shown to operators. */
export const nodeName = stringFor<string>({
  what: "1 to 100 letters, digits or _ - . :",
  pattern: NAME.source,
  lengthMax: NAME_LENGTH_MAX,
  toValue: (value) => (NAME.test(value) ? value : undefined),
});

/** The name that a node is listed by: with a number if another node has the same name. */
export const listedNodeName = stringFor<string>({
  what: "a name that GET /v1/nodes lists",
  pattern: LISTED_NAME.source,
  lengthMax: LISTED_NAME_LENGTH_MAX,
  toValue: (value) => (LISTED_NAME.test(value) ? value : undefined),
});
