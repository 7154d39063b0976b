import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Problem } from '../parts.tsx';

/**
 * A question in front of the page. Escape closes it, and the keyboard is back at what opened it. It starts at the element
 * of the class `first`, or at the first control.
 */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }) {
  const { title, onClose, children } = props;
  const own = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useLayoutEffect(() => {
    const dialog = own.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>('.first')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={own} aria-labelledby={headingId} onCancel={onClose}>
      <h2 id={headingId}>{title}</h2>
      {children}
    </dialog>
  );
}

interface AskedProps {
  title: string;
  /** The button that does it. */
  action: string;
  /** @returns why it could not be done: the dialog stays. */
  run: () => Promise<string | undefined>;
  onClose: () => void;
  children: ComponentChildren;
}

function useRun(run: AskedProps['run']) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const go = async () => {
    setIsBusy(true);
    setProblem(await run());
    setIsBusy(false);
  };
  return { problem, isBusy, go: () => void go() };
}

/** Asks before something is done that can't be undone. The keyboard starts at what does no harm. */
export function Confirm(props: AskedProps & { keep?: string; isReady?: boolean }) {
  const { title, action, keep = 'Keep', isReady = true, run, onClose, children } = props;
  const { problem, isBusy, go } = useRun(run);
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <Problem text={problem} />
      <div class="answers">
        <button type="button" class="danger" disabled={!isReady || isBusy} onClick={go}>
          {action}
        </button>
        <button type="button" class="first" onClick={onClose}>
          {keep}
        </button>
      </div>
    </Dialog>
  );
}

/** Fields, and a button that sends them. */
export function FormDialog(props: AskedProps) {
  const { title, action, run, onClose, children } = props;
  const { problem, isBusy, go } = useRun(run);
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          if (!isBusy) go();
        }}
      >
        {children}
        <Problem text={problem} />
        <div class="answers">
          <button type="submit" class="primary" disabled={isBusy}>
            {action}
          </button>
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** What was done. The keyboard is there then: what was pressed is gone. */
export function Done({ text }: { text: string }) {
  const own = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => {
    if (text !== '') own.current?.focus();
  }, [text]);
  return (
    <p class="note" role="status" tabIndex={-1} ref={own}>
      {text}
    </p>
  );
}
