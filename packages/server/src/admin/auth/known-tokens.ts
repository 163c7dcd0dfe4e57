// The access tokens that this node knows: checked against its own state, so that neither a request nor a flood of
// them reaches the database. A token that is revoked on this node is refused from then on; on others when they hear
// of it, within 2 s.

import {
  type AccessToken,
  checkAccessToken,
  findAccessToken,
} from "../../control/credentials/access-tokens.js";
import type { ControlState } from "../../control/state/state.js";

/** Checks access tokens. */
export interface KnownTokens {
  /** Whether there is any, also one that has expired. */
  readonly hasAny: boolean;
  /** The token that was sent; undefined if it is malformed, unknown, revoked or expired. */
  check(sent: string): AccessToken | undefined;
  /** The token of an id, for a session that began with it; undefined if it is revoked or expired by now. */
  find(id: string): AccessToken | undefined;
}

/** The tokens of a node's state. @param nowMs - The wall clock. */
export function knownTokensOf(state: ControlState, nowMs: () => number): KnownTokens {
  const find = (id: string) => state.find("access-token", id);
  return {
    get hasAny() {
      return state.count("access-token") > 0;
    },
    check: (sent) => checkAccessToken(sent, find, nowMs()),
    find: (id) => findAccessToken(id, find, nowMs()),
  };
}
