import { useLayoutEffect, useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { Mark, Problem } from '../parts.tsx';
import { notDone } from '../text.ts';

const texts = {
  confirm: {
    title: 'Confirm e-mail alerts',
    action: 'Confirm',
    done: 'Confirmed. This address gets alerts from now on.',
  },
  end: {
    title: 'End e-mail alerts',
    action: 'End e-mails',
    done: 'This address gets no more alerts.',
  },
} as const;

/** Where an e-mail's links lead, without a sign-in. Mail scanners open links too, so nothing happens before a click. */
export function EmailLink() {
  const [, use, key = ''] = location.hash.split('/');
  const { title, action, done } = use === 'confirm' ? texts.confirm : texts.end;
  const [isDone, setIsDone] = useState(false);
  const [problem, setProblem] = useState<string>();
  useLayoutEffect(() => {
    document.title = `${title} · lfs-quota`;
  }, [title]);
  const go = async () => {
    const outcome =
      use === 'confirm'
        ? await ask('/v1/emails/confirm', { method: 'POST', body: { key } })
        : await ask(`/v1/emails/unsubscribe?key=${encodeURIComponent(key)}`, { method: 'POST' });
    if (outcome.kind === 'ok') return setIsDone(true);
    setProblem(outcome.kind === 'refused' ? outcome.detail : notDone);
  };
  return (
    <main class="alone">
      <p class="brand">
        <Mark /> lfs-quota
      </p>
      <h1>{title}</h1>
      {isDone ? (
        <p role="status">{done}</p>
      ) : (
        <button type="button" class="primary" onClick={() => void go()}>
          {action}
        </button>
      )}
      <Problem text={problem} />
    </main>
  );
}
