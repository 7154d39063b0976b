import { formatAge } from '../../../../cli/render.ts';
import type { EmailBody } from '../../../../lambda/subjects/alerts/email-contract.ts';
import { Button, Card, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import { useDialog } from '../../views/dialog.tsx';
import { Line } from '../../views/table.tsx';

const isWaiting = ({ confirmedAt, ended }: EmailBody) => confirmedAt === null && !ended;

/** Addresses that get the tenant's alerts. */
export function Emails({ tenant, nowMs }: { tenant: string; nowMs: number }) {
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
