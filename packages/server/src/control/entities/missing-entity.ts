// The error for an entity that does not exist, with the name that was probably meant.

import { didYouMean } from "../../base/did-you-mean.js";
import { ServerError, show } from "../../base/errors.js";
import type { Entities, EntityKind } from "../changes/entity.js";

/** The most names that a misspelt one is compared with: of more entities, those that begin with the same letter. */
const COMPARED_MAX = 1_000;

/** `SLUICE_NOT_FOUND`: there is no tenant "acmee"; did you mean acme? */
export async function missingEntity(
  entities: Entities,
  { kind, noun, id }: { readonly kind: EntityKind; readonly noun: string; readonly id: string },
): Promise<ServerError> {
  const hint = didYouMean(id, await namesNear(entities, kind, id));
  return new ServerError("SLUICE_NOT_FOUND", `there is no ${noun} ${show(id)}${hint}`);
}

async function namesNear(entities: Entities, kind: EntityKind, id: string): Promise<string[]> {
  let page = await entities.list(kind, { limit: COMPARED_MAX });
  if (page.length === COMPARED_MAX)
    page = await entities.list(kind, { after: id.slice(0, 1), limit: COMPARED_MAX });
  return page.map((entity) => entity.id);
}
