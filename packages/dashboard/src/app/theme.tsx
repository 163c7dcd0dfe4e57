// Light or dark: as the system says, unless the user has chosen. The choice is kept in the browser.

import { useState } from "preact/hooks";
import { Button } from "../ui/forms/button.js";

type Theme = "system" | "light" | "dark";

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const NAMES: Readonly<Record<Theme, string>> = {
  system: "auto",
  light: "light",
  dark: "dark",
};
const STORED = "sluice-theme";

apply(stored());

/** Switches between the system's theme, light and dark. */
export function ThemeButton() {
  const [theme, setTheme] = useState(stored);
  const change = () => {
    const next = NEXT[theme];
    localStorage.setItem(STORED, next);
    apply(next);
    setTheme(next);
  };
  return (
    <Button kind="quiet" onClick={change}>
      Theme: {NAMES[theme]}
    </Button>
  );
}

function stored(): Theme {
  const value = localStorage.getItem(STORED);
  return value === "light" || value === "dark" ? value : "system";
}

function apply(theme: Theme): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset.theme;
  else dataset.theme = theme;
}
