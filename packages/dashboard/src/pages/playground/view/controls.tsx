// Sliders and choices.

import { useId } from "preact/hooks";
import { formatDuration } from "../../../ui/formats/format.js";
import {
  HOLD_NAMES,
  type Keying,
  type LengthName,
  lengthOf,
  nameOfLength,
  RANGES,
  type RangeName,
  type Retry,
  retrySoonMs,
  type Settings,
  WINDOW_NAMES,
} from "../model/settings.js";
import { formatLength } from "./axis.js";

interface ControlsProps {
  readonly settings: Settings;
  onChange(settings: Partial<Settings>): void;
}

const LABELS: Readonly<Record<RangeName, { readonly label: string; readonly hint: string }>> = {
  limit: { label: "Limit", hint: "Units in a window; permits of the concurrency limit" },
  burst: { label: "Burst", hint: "Capacity of the token bucket" },
  queue: { label: "Queue", hint: "How many may wait in the leaky bucket" },
  cost: { label: "Cost", hint: "Units that each request takes" },
  quota: { label: "Quota", hint: "Units in a calendar day" },
  loadPercent: { label: "Load", hint: "Traffic in percent of the limit" },
};

/** All of them. */
export function Controls({ settings, onChange }: ControlsProps) {
  const range = (name: RangeName, format?: (value: number) => string) => (
    <Range key={name} name={name} settings={settings} onChange={onChange} format={format} />
  );
  const isLoadFree = settings.shape !== "drawn" && settings.shape !== "log";
  return (
    <div class="playground-controls">
      {isLoadFree && range("loadPercent", (value) => `${value}%`)}
      {range("limit")}
      <Length
        label="Window"
        hint="How long a window is; buckets refill the limit in it"
        names={WINDOW_NAMES}
        valueMs={settings.windowMs}
        onInput={(windowMs) => onChange({ windowMs })}
      />
      {range("burst")}
      {range("queue")}
      {range("cost")}
      <Length
        label="Hold time"
        hint="How long a request holds its permit"
        names={HOLD_NAMES}
        valueMs={settings.holdMs}
        onInput={(holdMs) => onChange({ holdMs })}
      />
      {range("quota", (value) => `${value} a day`)}
    </div>
  );
}

interface RangeProps extends ControlsProps {
  readonly name: RangeName;
  readonly format?: ((value: number) => string) | undefined;
}

function Range({ name, settings, onChange, format = String }: RangeProps) {
  const { label, hint } = LABELS[name];
  return (
    <Slider
      label={label}
      hint={hint}
      min={RANGES[name].min}
      max={RANGES[name].max}
      step={name === "loadPercent" ? 10 : 1}
      value={settings[name]}
      shown={format(settings[name])}
      onInput={(value) => onChange({ [name]: value })}
    />
  );
}

interface LengthProps {
  readonly label: string;
  readonly hint: string;
  readonly names: readonly LengthName[];
  readonly valueMs: number;
  onInput(ms: number): void;
}

function Length({ label, hint, names, valueMs, onInput }: LengthProps) {
  const at = names.indexOf(nameOfLength(valueMs) ?? "1m");
  return (
    <Slider
      label={label}
      hint={hint}
      min={0}
      max={names.length - 1}
      step={1}
      value={at}
      shown={formatLength(valueMs)}
      onInput={(index) => onInput(lengthOf(names[index] ?? "1m"))}
    />
  );
}

interface SliderProps {
  readonly label: string;
  readonly hint: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value: number;
  readonly shown: string;
  onInput(value: number): void;
}

function Slider({ label, hint, min, max, step, value, shown, onInput }: SliderProps) {
  const id = useId();
  return (
    <div class="playground-slider" title={hint}>
      <label for={id}>{label}</label>
      <output for={id}>{shown}</output>
      <input
        id={id}
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        aria-valuetext={shown}
        onInput={({ currentTarget }) => onInput(Number(currentTarget.value))}
      />
    </div>
  );
}

/** What clients do, and how they are counted. */
export function Behaviour({ settings, onChange }: ControlsProps) {
  return (
    <div class="playground-behaviour">
      <Choice<Retry>
        legend="After a refusal, clients"
        value={settings.retry}
        options={[
          { value: "none", name: "give up" },
          { value: "soon", name: `retry every ${formatDuration(retrySoonMs(settings))}` },
          { value: "after", name: "wait for Retry-After" },
        ]}
        onChoose={(retry) => onChange({ retry })}
      />
      <Choice<Keying>
        legend="Clients are counted"
        value={settings.keying}
        options={[
          { value: "shared", name: "together" },
          { value: "client", name: "each on its own" },
        ]}
        onChoose={(keying) => onChange({ keying })}
      />
    </div>
  );
}

interface ChoiceProps<T extends string> {
  readonly legend: string;
  readonly value: T;
  readonly options: readonly { readonly value: T; readonly name: string }[];
  onChoose(value: T): void;
}

function Choice<T extends string>({ legend, value, options, onChoose }: ChoiceProps<T>) {
  const name = useId();
  return (
    <fieldset class="playground-choice">
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChoose(option.value)}
          />
          <span>{option.name}</span>
        </label>
      ))}
    </fieldset>
  );
}
