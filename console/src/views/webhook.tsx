import { useState } from 'preact/hooks';
import type { WebhookBody } from '../../../lambda/api/contract/webhooks.ts';
import { Card } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { Confirm, FormDialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { Secret } from './secret.tsx';
import { deliveryText } from './view-texts.ts';

/** Where alerts of the tenant are sent. */
export function Webhook({ tenant, nowMs }: { tenant: string; nowMs: number }) {
  const path = `/v1/tenants/${tenant}/webhook`;
  // Without one it is refused.
  const { body, read } = useRead<WebhookBody>(path, { againMs: () => 10_000 });
  const [open, setOpen] = useState<'edit' | 'delete'>();
  const [url, setUrl] = useState('');
  const [secret, setSecret] = useState<string>();
  const [said, setSaid] = useState<string>();
  const close = () => setOpen(undefined);
  const save = async () => {
    const done = await change<{ secret: string | null }>(path, { method: 'PUT', body: { url: url.trim() } });
    if (!done.body) return done.problem;
    close();
    setSecret(done.body.secret ?? undefined);
    read();
    return undefined;
  };
  const test = async () => {
    const done = await change(`${path}/test`, { method: 'POST' });
    setSaid(done.problem ?? 'Test sent. Its result is here in some seconds.');
    read();
  };
  const remove = async () => {
    const { problem } = await change(path, { method: 'DELETE' });
    if (problem !== undefined) return problem;
    close();
    read();
    return undefined;
  };
  return (
    <Card
      title="Webhook"
      action={
        <button
          type="button"
          onClick={() => {
            setUrl(body?.url ?? '');
            setOpen('edit');
          }}
        >
          {body ? 'Edit' : 'Add'}
        </button>
      }
    >
      {body ? (
        <div class="line">
          <div>
            <p class="strong">{body.url}</p>
            <p class="note">{body.last ? deliveryText(body.last, nowMs) : 'Nothing sent yet.'}</p>
          </div>
          <button type="button" class="quiet" onClick={() => void test()}>
            Send a test
          </button>
          <button type="button" class="quiet" onClick={() => setOpen('delete')}>
            Remove
          </button>
        </div>
      ) : (
        <p class="soft">Sends alerts at 80%, at 90% and for rejected pushes to your URL.</p>
      )}
      <p class="note" role="status">
        {said}
      </p>
      {open === 'edit' && (
        <FormDialog title="Webhook" action="Save" run={save} onClose={close}>
          <TextField label="URL" value={url} onType={setUrl} isFirst />
        </FormDialog>
      )}
      {open === 'delete' && (
        <Confirm title="Remove the webhook?" action="Remove" run={remove} onClose={close}>
          <p>Pending deliveries are dropped.</p>
        </Confirm>
      )}
      {secret !== undefined && (
        <Secret
          title="Its signing secret"
          name="the signing secret"
          secret={secret}
          onDone={() => setSecret(undefined)}
        />
      )}
    </Card>
  );
}
