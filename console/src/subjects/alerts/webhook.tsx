import { useRef, useState } from 'preact/hooks';
import { Button, Card } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import { useDialog } from '../../views/dialog.tsx';
import { Line } from '../../views/table.tsx';
import { deliveryText } from './delivery-text.ts';

const againMs = 10_000;

/** Where alerts of the tenant are sent. */
export function Webhook({ tenant, nowMs }: { tenant: string; nowMs: number }) {
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
