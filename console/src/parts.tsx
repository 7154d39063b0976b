import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { formatCount } from '../../cli/render.ts';

/** The mark: a usage bar. */
export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 14" aria-hidden="true">
      <rect class="pale" width="20" height="14" rx="3" />
      <path class="fill" d="M3 0h8v14H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" />
    </svg>
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
    <div class="code">
      <pre>{text}</pre>
      <button type="button" class="quiet" onClick={() => void copy()} aria-label={`Copy: ${name}`}>
        {said || 'Copy'}
      </button>
      <span class="hidden" role="status">
        {said}
      </span>
    </div>
  );
}

/** That a list is longer than what was read of it. */
export function Cut({ isCut, count }: { isCut: boolean; count: number }) {
  if (!isCut) return null;
  return <p class="note under">There are more than these {formatCount(count)}. The command line has all.</p>;
}

/** What is said when something was refused. */
export function Problem({ text }: { text: string | undefined }) {
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}
