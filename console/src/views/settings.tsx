import { useState } from 'preact/hooks';
import type { DownloadPageBody } from '../../../lambda/api/contract/downloads.ts';
import type { SubscriptionBody } from '../../../lambda/api/contract/tenants.ts';
import { parseAddress } from '../address.ts';
import { go } from '../navigation.ts';
import { Card, Problem, Title } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import type { ViewProps } from '../view-props.ts';
import { DeleteByName } from './delete-by-name.tsx';
import { Exports } from './exports.tsx';
import { SelectField, TextField } from './fields.tsx';
import { LimitForm } from './limit-form.tsx';
import { Webhook } from './webhook.tsx';

/** What is decided of a tenant: most by the operator, alerts by its admins, exports by any token. */
export function Settings({ tenant, session, address, body, live, nowMs }: ViewProps) {
  const isOperator = session.kind === 'operator';
  const path = `/v1/tenants/${tenant}`;
  const { body: downloads } = useRead<DownloadPageBody>(isOperator ? `${path}/downloads?limit=1` : undefined);
  const send = async (changed: object) => {
    const { problem } = await change(path, { method: 'PATCH', body: changed });
    if (problem === undefined) live.askNow();
    return problem;
  };
  return (
    <main>
      <Title address={address} />
      {isOperator && (
        <>
          <Card title="Storage limit">
            <LimitForm
              label={`Limit of ${tenant}`}
              of={tenant}
              limitBytes={body.limitBytes}
              usedBytes={body.usage ? body.usage.storedBytes + body.usage.reservedBytes : 0}
              used="in use"
              below="Pushes fail until you delete that much. Downloads still work."
              save={(limitBytes) => send({ limitBytes })}
            />
          </Card>
          {downloads && (
            <Card title="Download limit">
              <LimitForm
                label="Downloads per month"
                of={tenant}
                limitBytes={body.downloadLimitBytes}
                usedBytes={downloads.month.bytes}
                used="downloaded this month"
                below="Downloads fail until the month ends. Pushes still work."
                save={(downloadLimitBytes) => send({ downloadLimitBytes })}
              />
            </Card>
          )}
          <Plan body={body} send={send} />
        </>
      )}
      <Webhook tenant={tenant} nowMs={nowMs} />
      <Exports
        tenant={tenant}
        repos={body.repos.map(({ repo }) => repo)}
        isForSome={session.repos !== null}
        nowMs={nowMs}
      />
      {isOperator && (
        <DeleteByName
          title="Delete this tenant"
          name={tenant}
          path={path}
          note="Deletes all its repos and tokens. You can't reuse the name."
          nowMs={nowMs}
          onDeleted={() => go(parseAddress(''))}
        />
      )}
    </main>
  );
}

const creations = [
  ['push', 'The first push'],
  ['admin', 'An admin first'],
] as const;

/** The plan's name, and how repos are created. */
function Plan(props: { body: SubscriptionBody; send: (body: object) => Promise<string | undefined> }) {
  const { body, send } = props;
  const [plan, setPlan] = useState(body.plan ?? '');
  const [creates, setCreates] = useState<'push' | 'admin'>(body.reposMustExist ? 'admin' : 'push');
  const [problem, setProblem] = useState<string>();
  const wanted = { plan: plan.trim() || null, reposMustExist: creates === 'admin' };
  const isChanged = wanted.plan !== body.plan || wanted.reposMustExist !== body.reposMustExist;
  const save = async (event: Event) => {
    event.preventDefault();
    setProblem(await send(wanted));
  };
  return (
    <Card title="Plan and repos">
      <form class="fields" onSubmit={(event) => void save(event)}>
        <TextField label="Plan" value={plan} onType={setPlan} note="Your name for it, for billing." />
        <SelectField label="Repos created by" value={creates} options={creations} onChoose={setCreates} />
        <p class="note">If an admin must create a repo first, a typo in a URL fails.</p>
        <button type="submit" class="primary" disabled={!isChanged}>
          Save
        </button>
        <Problem text={problem} />
      </form>
    </Card>
  );
}
