import type { SentTo } from '../../../cli/routes.ts';
import type { SubscriptionBody } from '../../../lambda/frame/contract/tenants.ts';
import { parseAddress } from '../address.ts';
import { go } from '../navigation.ts';
import { Card, Title } from '../parts.tsx';
import { change, useRead } from '../requests.ts';
import { Emails } from '../subjects/alerts/emails.tsx';
import { Webhook } from '../subjects/alerts/webhook.tsx';
import { Exports } from '../subjects/exports/exports.tsx';
import type { ViewProps } from '../view-props.ts';
import { DeleteByName } from './delete-by-name.tsx';
import { Form, type Values } from './form.tsx';
import { LimitForm } from './limit-form.tsx';

type Send = (body: SentTo<'PATCH /v1/tenants/{tenant}'>) => Promise<string | undefined>;

/** What is decided of a tenant: most by the operator, alerts by its admins, exports by any token. */
export function Settings(props: ViewProps) {
  const { tenant, session, address, body, live, nowMs } = props;
  const isOperator = session.kind === 'operator';
  const route = isOperator ? 'GET /v1/tenants/{tenant}/downloads' : undefined;
  const { body: downloads } = useRead(route, { tenant, query: { limit: 1 } });
  const send: Send = (changed) =>
    change('PATCH /v1/tenants/{tenant}', { tenant, body: changed }, live.askNow);
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
      <Webhook {...props} />
      <Emails {...props} />
      <Exports {...props} />
      {isOperator && (
        <DeleteByName
          title="Delete this tenant"
          name={tenant}
          request={(asked, then) => change('DELETE /v1/tenants/{tenant}', { tenant, ...asked }, then)}
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
function Plan(props: { body: SubscriptionBody; send: Send }) {
  const { body, send } = props;
  const wanted = ({ plan, creates }: Values<'plan' | 'creates'>) => ({
    plan: plan.trim() || null,
    reposMustExist: creates === 'admin',
  });
  return (
    <Card title="Plan and repos">
      <Form
        action="Save"
        start={{ plan: body.plan ?? '', creates: body.reposMustExist ? 'admin' : 'push' }}
        fields={() => [
          { name: 'plan', label: 'Plan', note: 'Your name for it, for billing.' },
          {
            name: 'creates',
            label: 'Repos created by',
            options: creations,
            note: 'If an admin must create a repo first, a typo in a URL fails.',
          },
        ]}
        isReady={(values) => {
          const { plan, reposMustExist } = wanted(values);
          return plan !== body.plan || reposMustExist !== body.reposMustExist;
        }}
        run={(values) => send(wanted(values))}
      />
    </Card>
  );
}
