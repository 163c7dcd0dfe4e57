// The style sheet of a report, in light and in dark.

/** The whole sheet. Its hash is in the policy of the page. */
export const REPORT_STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d5dae0, #3a4149); --all: light-dark(#b9c6d6, #46566a);
  --refused: light-dark(#c22f2f, #f07171); --before: light-dark(#d69a2d, #b88a3a); }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1rem; }
.lead { font-size: 1.15rem; } .wide { overflow-x: auto; }
svg { display: block; width: 100%; height: 11rem; border-bottom: 1px solid var(--line); }
.plot { display: grid; grid-template-columns: max-content 1fr; column-gap: .5rem; margin: 1rem 0; font-size: .8rem; }
.plot .x, .plot .y { display: flex; justify-content: space-between; } .plot .x { grid-column: 2; }
.plot .y { flex-direction: column; align-items: flex-end; line-height: 1; } .plot svg { border-left: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: middle; }
code { overflow-wrap: anywhere; } td code { display: inline-block; min-width: 24ch; } .spark { min-width: 10rem; } .spark svg { height: 2rem; border: 0; }
path.all { fill: var(--all); } path.refused { fill: var(--refused); } path.before { fill: var(--before); opacity: .6; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; }
i.all { background: var(--all); } i.refused { background: var(--refused); } i.before { background: var(--before); }
`;
