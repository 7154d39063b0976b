import type { ComponentChildren, FunctionComponent, Ref } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatCount } from '../../cli/render.ts';
import { dayOf } from '../../lambda/core/rules/dates.ts';
import { type Address, titleOf } from './address.ts';
import { barOf, type Parts } from './figures.ts';
import { focus } from './navigation.ts';
import { csvOf } from './text.ts';
import './parts.css';

/** The mark: a usage bar. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 14" width="20" height="14" aria-hidden="true">
      <rect class="pale" width="20" height="14" rx="3" />
      <path class="fill" d="M3 0h8v14H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" />
    </svg>
  );
}

/** A page that is no view: what it asks or says, alone. */
export function Alone({ title, children }: { title: string; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${title} · lfs-quota`;
  }, [title]);
  return (
    <main class="alone">
      <p class="row tight brand">
        <Mark /> lfs-quota
      </p>
      <h1 class="cut">{title}</h1>
      {children}
    </main>
  );
}

/**
 * The heading of a view, with what is said beside it and what can be done. The document has the same title. After a change
 * of the view the keyboard goes on from here.
 *
 * @param props.isShape of a view that is not here yet: its own heading comes.
 */
export function Title(props: {
  address: Address;
  note?: ComponentChildren;
  action?: ComponentChildren;
  isShape?: boolean;
}) {
  const { address, note, action, isShape = false } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const title = titleOf(address);
  useEffect(() => {
    document.title = [title, address.tenant, 'lfs-quota'].filter(Boolean).join(' · ');
  }, [title, address.tenant]);
  useLayoutEffect(() => {
    if (!focus.isDue) return;
    heading.current?.focus({ preventScroll: true });
    focus.isDue = isShape;
  }, [title]);
  return (
    <div class="head title">
      <h1 class="cut" tabIndex={-1} ref={heading}>
        {title}
      </h1>
      {typeof note === 'string' ? <p class="note">{note}</p> : note}
      {action !== undefined && <div class="end">{action}</div>}
    </div>
  );
}

export function Card(props: {
  title: string;
  note?: ComponentChildren;
  action?: ComponentChildren;
  id?: string;
  children: ComponentChildren;
}) {
  const { title, note, action, id, children } = props;
  const headingId = useId();
  return (
    <section class="card" aria-labelledby={headingId} id={id}>
      <div class="head">
        <h2 id={headingId} tabIndex={-1}>
          {title}
        </h2>
        {note !== undefined && <span class="note">{note}</span>}
        {action !== undefined && <div class="end">{action}</div>}
      </div>
      {children}
    </section>
  );
}

export function Button(props: {
  text: string;
  /** Its class: `primary`, `quiet`, `bad`, `danger` or `text`. */
  kind?: string;
  /** For screen readers, if its text doesn't say all. */
  label?: string;
  isDisabled?: boolean;
  own?: Ref<HTMLButtonElement>;
  onPress: () => unknown;
}) {
  const { text, kind, label, isDisabled, own = null, onPress } = props;
  return (
    <button
      type="button"
      class={kind}
      aria-label={label}
      disabled={isDisabled}
      ref={own}
      onClick={() => void onPress()}
    >
      {text}
    </button>
  );
}

/** Text to be pasted elsewhere. */
export function Code({ text, name }: { text: string; name: string }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      setSaid('Select it and copy');
    }
    setTimeout(() => setSaid(''), 2000);
  };
  return (
    <div class="row tight code">
      <pre class="cut">{text}</pre>
      <Button text={said || 'Copy'} kind="quiet" label={`Copy: ${name}`} onPress={copy} />
      <span class="hidden" role="status">
        {said}
      </span>
    </div>
  );
}

/** That a list is longer than what was read of it. */
export function Cut({ isCut, count }: { isCut: boolean; count: number }) {
  if (!isCut) return null;
  return <p class="note under">The first {formatCount(count)}. The command line lists all.</p>;
}

/** What is said when something was refused. */
export function Problem({ text }: { text: string | undefined }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

/** One of a few, as buttons side by side. */
export function Choice<Value extends string | number>(props: {
  label: string;
  values: readonly Value[];
  value: Value;
  onChoose: (value: Value) => void;
  textOf?: (value: Value) => string;
}) {
  const { label, values, value, onChoose, textOf = String } = props;
  const name = useId();
  return (
    <fieldset class="row choice">
      <legend class="hidden">{label}</legend>
      {values.map((each) => (
        <label key={each}>
          <input type="radio" name={name} checked={value === each} onChange={() => onChoose(each)} />
          <span class="note">{textOf(each)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** How long a browser has to begin with a download. */
const keptMs = 60_000;

/** Saves all rows of a table, not only those that are shown. It is made here: nothing is asked for. */
export function CsvButton<Row extends object>(props: {
  /** What the table is of, for the label and the file's name. */
  name: string;
  tenant?: string;
  rows: readonly Row[];
  fields: readonly (keyof Row & string)[];
}) {
  const { name, tenant, rows, fields } = props;
  const save = () => {
    const url = URL.createObjectURL(new Blob([csvOf(rows, fields)], { type: 'text/csv;charset=utf-8' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = `${[...(tenant ? [tenant] : []), name, dayOf(Date.now())].join('-')}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), keptMs);
  };
  return (
    <Button
      text="CSV"
      kind="quiet csv"
      label={`${name} as CSV`}
      isDisabled={rows.length === 0}
      onPress={save}
    />
  );
}

/** What a colour or a line of a drawing means. */
export function Sign({ kind, children }: { kind: string; children: ComponentChildren }) {
  return (
    <span>
      <i class={`sign ${kind}`} aria-hidden="true" />
      {children}
    </span>
  );
}

/** A part of a whole: as wide as its percent says. */
export function Share({ of, bytes }: { of: number; bytes: number }) {
  return (
    <svg class="share" aria-hidden="true">
      <rect class="track" width="100%" height="100%" rx="3" />
      <rect class="fill" width={percent(of === 0 ? 0 : bytes / of)} height="100%" rx="3" />
    </svg>
  );
}

/** A length in a drawing, of 1. */
export const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

/** One bar: stored, reserved, and what is beyond the limit. */
export function Bar(props: { parts: Parts; label: string; isSmall?: boolean; isNear?: boolean }) {
  const { parts, label, isSmall = false, isNear = false } = props;
  const { stored, reserved, over, limit } = barOf(parts);
  const used = parts.stored + parts.reserved;
  const max = Math.max(used, parts.limit, 1);
  return (
    <div class={isSmall ? 'bar small' : 'bar'}>
      <meter class="hidden" min={0} max={max} value={used} aria-label="Used" aria-valuetext={label}>
        {label}
      </meter>
      <svg aria-hidden="true">
        <defs>
          <pattern
            id="stripes"
            width="6"
            height="6"
            patternUnits="userSpaceOnUse"
            patternTransform="rotate(45)"
          >
            <rect class="pale" width="6" height="6" />
            <rect class="fill" width="2.5" height="6" />
          </pattern>
        </defs>
        <rect class="track" width="100%" height="100%" />
        <rect class={isNear ? 'near-fill' : 'fill'} width={percent(stored)} height="100%" />
        {reserved > 0 && <rect class="striped" x={percent(stored)} width={percent(reserved)} height="100%" />}
        {over > 0 && <rect class="over" x={percent(limit)} width={percent(over)} height="100%" />}
      </svg>
      {over > 0 && <span class="marker" style={{ left: percent(limit) }} />}
    </div>
  );
}

/** Parts of a page by their place, as one: JavaScript lists numbers in their order. */
export function inOrder<Props>(
  ...parts: readonly (Readonly<Record<number, FunctionComponent<Props>>> | undefined)[]
) {
  const all = Object.values<FunctionComponent<Props>>(Object.assign({}, ...parts));
  return (props: Props) => (
    <>
      {all.map((Part, index) => (
        <Part key={index} {...(props as Props & object)} />
      ))}
    </>
  );
}
