// A key resolver for tests that compare all that a key stands for.

import { SharedKey } from "sluice/api-keys";
import { ControlKeyResolver } from "../../src/control/key-resolver/control-key-resolver.js";

/** Resolves each key by itself, where the service has one answer for all keys of a tenant. */
export class FullKeyResolver extends ControlKeyResolver {
  override resolve(sent: string) {
    const answer = super.resolve(sent);
    return answer instanceof SharedKey ? answer.withId(answer.idOf(sent)) : answer;
  }
}
