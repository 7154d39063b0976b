import { useRef, useState } from 'preact/hooks';
import { formatAge } from '../../../../cli/render.ts';
import type { EmailBody } from '../../../../lambda/subjects/alerts/email-contract.ts';
import { formatAddress, tenantAddress } from '../../address.ts';
import { Alone, Button, Card, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import type { SubjectParts, ViewProps } from '../../view-props.ts';
import { useDialog } from '../../views/dialog.tsx';
import { Form } from '../../views/form.tsx';
import { Line } from '../../views/table.tsx';
import { deliveryText } from './delivery-text.ts';

/** A webhook that doesn't work. */
function useInProgress({ tenant, mayManage, nowMs }: ViewProps) {
  const { body } = useRead(mayManage ? 'GET /v1/tenants/{tenant}/webhook' : undefined, { tenant });
  const last = body?.last;
  return (
    last &&
    last.outcome !== 'delivered' && (
      <p>
        <a href={formatAddress(tenantAddress(tenant, 'settings'))}>Webhook</a>: {last.type}{' '}
        {last.outcome === 'failed' ? 'is retried' : "wasn't delivered"}{' '}
        <span class="soft">{formatAge(last.at, nowMs)}</span>
      </p>
    )
  );
}

export const alerts: SubjectParts = {
  settings: { 40: Webhook, 50: Emails },
  doors: { email: EmailLink },
  useInProgress,
};

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
function EmailLink() {
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

const isWaiting = ({ confirmedAt, ended }: EmailBody) => confirmedAt === null && !ended;

function Emails({ tenant, nowMs }: { tenant: string; nowMs: number }) {
  const { body, refusal, read } = useRead('GET /v1/tenants/{tenant}/emails', {
    tenant,
    againMs: ({ emails }) => (emails.some(isWaiting) ? 10_000 : null),
  });
  const { dialog, ask } = useDialog();
  const add = () =>
    ask({
      title: 'Add an address',
      action: 'Add',
      start: { address: '' },
      fields: () => [{ name: 'address', label: 'E-mail address', note: 'It gets a link to confirm.' }],
      run: ({ address }) =>
        change('POST /v1/tenants/{tenant}/emails', { tenant, body: { address: address.trim() } }, read),
    });
  const remove = ({ address }: EmailBody) =>
    ask({
      title: `Remove ${address}?`,
      action: 'Remove',
      text: <p>It gets no more alerts.</p>,
      run: () => change('DELETE /v1/tenants/{tenant}/emails', { tenant, query: { address } }, read),
    });
  const stateOf = ({ confirmedAt, ended }: EmailBody) =>
    (ended && `Ended: ${ended}.`) ??
    (confirmedAt === null ? 'Not confirmed yet.' : `Confirmed ${formatAge(confirmedAt, nowMs)}.`);
  return (
    <Card title="E-mail alerts" action={<Button text="Add an address" onPress={add} />}>
      <Problem text={refusal} />
      {body?.emails.map((each) => (
        <Line key={each.address} name={each.address} note={stateOf(each)}>
          <Button text="Remove" kind="quiet" label={`Remove ${each.address}`} onPress={() => remove(each)} />
        </Line>
      ))}
      {body?.emails.length === 0 && <p class="soft">None yet. They get alerts, and a summary on Mondays.</p>}
      {dialog}
    </Card>
  );
}

const againMs = 10_000;

function Webhook({ tenant, nowMs }: { tenant: string; nowMs: number }) {
  // The event before the test, whose result isn't here yet.
  const before = useRef<string | null>(null);
  // Without one it is refused.
  const { body, read } = useRead('GET /v1/tenants/{tenant}/webhook', {
    tenant,
    againMs: ({ last }) => {
      if (last?.nextAt) return Math.max(againMs, Date.parse(last.nextAt) - Date.now());
      return (last?.eventId ?? '') === before.current ? againMs : null;
    },
  });
  const { dialog, ask, tellSecret } = useDialog();
  const [said, setSaid] = useState<string>();
  const edit = () =>
    ask({
      title: 'Webhook',
      action: 'Save',
      start: { url: body?.url ?? '' },
      fields: () => [{ name: 'url', label: 'URL' }],
      run: ({ url }) =>
        change('PUT /v1/tenants/{tenant}/webhook', { tenant, body: { url: url.trim() } }, ({ secret }) => {
          if (secret !== null) tellSecret('Its signing secret', 'the signing secret', secret);
          read();
        }),
    });
  const test = async () => {
    const problem = await change('POST /v1/tenants/{tenant}/webhook/test', { tenant });
    if (!problem) before.current = body?.last?.eventId ?? '';
    setSaid(problem ?? 'Test sent. Its result is here in some seconds.');
    read();
  };
  const remove = () =>
    ask({
      title: 'Remove the webhook?',
      action: 'Remove',
      text: <p>Pending deliveries are dropped.</p>,
      run: () => change('DELETE /v1/tenants/{tenant}/webhook', { tenant }, read),
    });
  return (
    <Card title="Webhook" action={<Button text={body ? 'Edit' : 'Add'} onPress={edit} />}>
      {body ? (
        <Line name={body.url} note={body.last ? deliveryText(body.last, nowMs) : 'Nothing sent yet.'}>
          <Button text="Send a test" kind="quiet" onPress={test} />
          <Button text="Remove" kind="quiet" onPress={remove} />
        </Line>
      ) : (
        <p class="soft">Sends alerts at 80%, at 90% and for rejected pushes to your URL.</p>
      )}
      <p class="note" role="status">
        {said}
      </p>
      {dialog}
    </Card>
  );
}
