import { useState } from 'preact/hooks';
import type { WebhookBody } from '../../../lambda/api/contract/webhooks.ts';
import { Button, Card } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { useDialog } from './dialog.tsx';
import { Line } from './table.tsx';
import { deliveryText } from './view-texts.ts';

/** Where alerts of the tenant are sent. */
export function Webhook({ tenant, nowMs }: { tenant: string; nowMs: number }) {
  const path = `/v1/tenants/${tenant}/webhook`;
  // Without one it is refused.
  const { body, read } = useRead<WebhookBody>(path, { againMs: () => 10_000 });
  const { dialog, ask, tellSecret } = useDialog();
  const [said, setSaid] = useState<string>();
  const edit = () =>
    ask({
      title: 'Webhook',
      action: 'Save',
      start: { url: body?.url ?? '' },
      fields: () => [{ name: 'url', label: 'URL' }],
      run: ({ url }) =>
        change<{ secret: string | null }>(
          path,
          { method: 'PUT', body: { url: url.trim() } },
          ({ secret }) => {
            if (secret !== null) tellSecret('Its signing secret', 'the signing secret', secret);
            read();
          },
        ),
    });
  const test = async () => {
    const problem = await change(`${path}/test`, { method: 'POST' });
    setSaid(problem ?? 'Test sent. Its result is here in some seconds.');
    read();
  };
  const remove = () =>
    ask({
      title: 'Remove the webhook?',
      action: 'Remove',
      text: <p>Pending deliveries are dropped.</p>,
      run: () => change(path, { method: 'DELETE' }, read),
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
