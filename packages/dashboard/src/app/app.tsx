// The application: the login if the service wants one, otherwise the frame with the page that the URL names.

import { useEffect, useState } from "preact/hooks";
import { ErrorBoundary, LocationProvider } from "preact-iso";
import { type ApiError, onSessionEnded } from "../api/client.js";
import { findSession, type Session, SessionContext } from "../api/session.js";
import { Button } from "../ui/button.js";
import { Problem } from "../ui/states.js";
import { Toasts } from "../ui/toasts.js";
import { Frame } from "./frame.js";
import { Login } from "./login.js";
import { Pages } from "./pages.js";

type State =
  | { readonly kind: "starting" }
  | { readonly kind: "login"; readonly hasEnded: boolean }
  | { readonly kind: "failed"; readonly error: ApiError }
  | { readonly kind: "in"; readonly session: Session };

/** The whole page. */
export function App() {
  const [state, setState] = useState<State>({ kind: "starting" });
  const start = () => {
    findSession().then(
      (session) => setState(session ? { kind: "in", session } : { kind: "login", hasEnded: false }),
      (error: ApiError) => setState({ kind: "failed", error }),
    );
  };
  useEffect(() => {
    onSessionEnded(() => setState({ kind: "login", hasEnded: true }));
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
      return (
        <Login
          hasEnded={state.hasEnded}
          onLoggedIn={(session) => setState({ kind: "in", session })}
        />
      );
    case "in":
      return (
        <SessionContext.Provider value={state.session}>
          <LocationProvider scope="/dashboard">
            <Frame onLoggedOut={() => setState({ kind: "login", hasEnded: false })}>
              <ErrorBoundary>
                <Pages />
              </ErrorBoundary>
            </Frame>
          </LocationProvider>
        </SessionContext.Provider>
      );
  }
}
