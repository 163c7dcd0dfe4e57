// The application: the login if the service wants one, otherwise the frame with the page that the URL names. When a
// session ends, the page stays under the login, with all that was typed into it.

import { useEffect, useState } from "preact/hooks";
import { ErrorBoundary, LocationProvider } from "preact-iso";
import { type ApiError, onSessionEnded } from "../api/client.js";
import {
  findSession,
  mayAsMuch,
  type Session,
  SessionContext,
  SessionEndedContext,
} from "../api/session.js";
import { Toasts } from "../ui/dialogs/toasts.js";
import { Button } from "../ui/forms/button.js";
import { Problem } from "../ui/page/states.js";
import { Frame } from "./frame.js";
import { Login, LoginAgain } from "./login.js";
import { Pages } from "./pages.js";

type State =
  | { readonly kind: "starting" }
  | { readonly kind: "login" }
  | { readonly kind: "failed"; readonly error: ApiError }
  | In;

interface In {
  readonly kind: "in";
  readonly session: Session;
  readonly hasEnded: boolean;
  /** Changes when what the page shows is not for the user who logged in now. */
  readonly turn: number;
}

/** The whole page. */
export function App() {
  const [state, setState] = useState<State>({ kind: "starting" });
  const start = () => {
    findSession().then(
      (session) => setState(session ? toIn(session) : { kind: "login" }),
      (error: ApiError) => setState({ kind: "failed", error }),
    );
  };
  useEffect(() => {
    onSessionEnded(() => setState((old) => (old.kind === "in" ? { ...old, hasEnded: true } : old)));
    start();
  }, []);
  return (
    <>
      <Content state={state} setState={setState} onRetry={start} />
      <Toasts />
    </>
  );
}

interface ContentProps {
  readonly state: State;
  readonly onRetry: () => void;
  setState(state: State): void;
}

function Content({ state, setState, onRetry }: ContentProps) {
  switch (state.kind) {
    case "starting":
      return <main class="starting" aria-busy="true" aria-label="Loading" />;
    case "failed":
      return (
        <main class="alone">
          <Problem error={state.error} action={<Button onClick={onRetry}>Try again</Button>} />
        </main>
      );
    case "login":
      return <Login onLoggedIn={(session) => setState(toIn(session))} />;
    case "in":
      return (
        <SessionContext.Provider key={state.turn} value={state.session}>
          <SessionEndedContext.Provider value={state.hasEnded}>
            <LocationProvider scope="/dashboard">
              <Frame onLoggedOut={() => setState({ kind: "login" })}>
                <ErrorBoundary>
                  <Pages />
                </ErrorBoundary>
              </Frame>
            </LocationProvider>
          </SessionEndedContext.Provider>
          {state.hasEnded && (
            <LoginAgain onLoggedIn={(session) => setState(toIn(session, state))} />
          )}
        </SessionContext.Provider>
      );
  }
}

/** The state after a login. What another user or a more powerful role had on the page is no longer shown. */
function toIn(session: Session, old?: In): In {
  const isSamePage =
    old === undefined ||
    (session.name === old.session.name && mayAsMuch(session.role, old.session.role));
  const turn = (old?.turn ?? 0) + (isSamePage ? 0 : 1);
  return { kind: "in", session, hasEnded: false, turn };
}
