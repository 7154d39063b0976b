import { useState } from 'preact/hooks';
import { Alone } from '../../parts.tsx';
import { change } from '../../requests.ts';
import { Form } from '../../views/form.tsx';

const emailTexts = {
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
  const isConfirm = use === 'confirm';
  const { title, action, done } = emailTexts[isConfirm ? 'confirm' : 'end'];
  const [isDone, setIsDone] = useState(false);
  const run = () => {
    const then = () => setIsDone(true);
    return isConfirm
      ? change('POST /v1/emails/confirm', { body: { key } }, then)
      : change('POST /v1/emails/unsubscribe', { query: { key } }, then);
  };
  return (
    <Alone title={title}>{isDone ? <p role="status">{done}</p> : <Form action={action} run={run} />}</Alone>
  );
}
