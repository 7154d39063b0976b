import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button, Code } from '../parts.tsx';
import { type Fillable, Form } from './form.tsx';
import './dialog.css';

/**
 * A question in front of the page. Escape closes it, if there's `onClose`, and the keyboard is back at what opened it. It
 * starts at the first text to type, or at the element of the class `first`, or at the first control.
 */
function Dialog(props: { title: string; onClose?: () => void; children: ComponentChildren }) {
  const { title, onClose, children } = props;
  const own = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useLayoutEffect(() => {
    const dialog = own.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>('input, .first')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={own}
      aria-labelledby={headingId}
      {...(!onClose && { closedby: 'none' })}
      onCancel={onClose ?? ((event) => event.preventDefault())}
    >
      <h2 id={headingId}>{title}</h2>
      {children}
    </dialog>
  );
}

interface Told {
  readonly title: string;
  readonly text?: ComponentChildren;
  /** Only *Done* closes it: what it shows is shown this once. */
  readonly isOnce?: boolean;
}

/** It closes when it was done; until then it says why it was not. */
export type Question<Name extends string = string> = Told &
  Fillable<Name> & {
    /** Without fields it asks for what can't be undone: the keyboard starts at this button, which does no harm. */
    readonly keep?: string;
  };

export function Ask<Name extends string>(
  props: Question<Name> & { onClose: () => void; children?: ComponentChildren },
) {
  const { title, text, keep = props.fields ? undefined : 'Keep', onClose, ...form } = props;
  const run: typeof form.run = async (values) => {
    const problem = await form.run(values);
    if (problem === undefined) onClose();
    return problem;
  };
  return (
    <Dialog title={title} onClose={onClose}>
      {text}
      <Form {...form} run={run} keep={keep} onCancel={onClose} />
    </Dialog>
  );
}

/** The dialogs of a card, one at a time. */
export function useDialog() {
  const [now, setNow] = useState<Told | Question>();
  // What an act has opened stays.
  const close = () => setNow((latest) => (latest === now ? undefined : latest));
  return {
    dialog:
      now === undefined ? null : 'run' in now ? (
        <Ask key={now.title} {...now} onClose={close} />
      ) : (
        <Dialog key={now.title} title={now.title} {...(!now.isOnce && { onClose: close })}>
          {now.text}
          <div class="row">
            <Button text="Done" kind="primary" onPress={close} />
          </div>
        </Dialog>
      ),
    ask: <Name extends string>(question: Question<Name>) => setNow(question),
    tell: (told: Told) => setNow(told),
    /** Shows a secret, once: it's nowhere after *Done*. */
    tellSecret: (title: string, name: string, secret: string) =>
      setNow({
        title,
        isOnce: true,
        text: (
          <>
            <p>Copy it now. You won't see it again.</p>
            <Code text={secret} name={name} />
          </>
        ),
      }),
  };
}

/** What was done. The keyboard is there then, once the dialog has closed: what was pressed is gone. */
export function Done({ text }: { text: string }) {
  const own = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    if (text !== '') requestAnimationFrame(() => own.current?.focus());
  }, [text]);
  return (
    <p class="note" role="status" tabIndex={-1} ref={own}>
      {text}
    </p>
  );
}
