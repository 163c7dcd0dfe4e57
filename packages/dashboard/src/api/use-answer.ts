// An answer of the service as the state of a component: loading, there, or failed. What was there stays on the page
// while it is asked again, so that nothing jumps.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { ReplyName, ReplyOf } from "sluice-server/api";
import { every } from "../base/clock.js";
import { type ApiError, type ApiOptions, ask } from "./client.js";
import { useSession } from "./session.js";

/** The state of an answer. */
export interface Answered<T> {
  /** The latest answer; undefined until the first one. */
  readonly data: T | undefined;
  /** Why the latest attempt failed; undefined if it did not. */
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** Asks again, and resolves when the answer is there. */
  reload(): Promise<void>;
}

/** What is asked besides the path. */
export interface AnswerOptions extends Pick<ApiOptions, "query" | "headers"> {
  /** Asks by POST with this body, where a question does not fit in a URL. Default: by GET. */
  readonly body?: unknown;
  /** Asks again every this many milliseconds while the page is visible. Default: only once. */
  readonly everyMs?: number;
}

/**
 * Asks when the component appears, when what is asked changes, after a login, and every `everyMs`.
 *
 * @param path - Undefined asks nothing.
 */
export function useAnswer<N extends ReplyName>(
  name: N,
  path: string | undefined,
  { query, headers, body, everyMs }: AnswerOptions = {},
): Answered<ReplyOf<N>> {
  const [state, setState] = useState<Omit<Answered<ReplyOf<N>>, "reload">>(LOADING);
  const asked = JSON.stringify([path, query, headers, body]);
  const latest = useRef(0);
  const load = useCallback(
    async (isBackground = false) => {
      if (path === undefined) return;
      const turn = ++latest.current;
      const set = (next: typeof state) => {
        if (turn === latest.current) setState(next);
      };
      try {
        const data = await ask(name, path, {
          isBackground,
          ...(query && { query }),
          ...(headers && { headers }),
          ...(body === undefined ? {} : { method: "POST", body }),
        });
        set({ data, error: undefined, isLoading: false });
      } catch (error) {
        setState((old) =>
          turn === latest.current ? { ...old, error: error as ApiError, isLoading: false } : old,
        );
      }
    },
    [name, asked],
  );
  useEffect(() => {
    setState(LOADING);
    void load();
    if (everyMs === undefined) return;
    return every(everyMs, () => {
      if (!document.hidden) void load(true);
    });
  }, [load, everyMs]);
  const session = useSession();
  const asker = useRef(session);
  useEffect(() => {
    if (asker.current !== session) void load();
    asker.current = session;
  }, [session]);
  return { ...state, reload: () => load() };
}

const LOADING = { data: undefined, error: undefined, isLoading: true };
