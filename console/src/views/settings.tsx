import type { FunctionComponent } from 'preact';
import { parseAddress } from '../address.ts';
import { go } from '../navigation.ts';
import { Card, Title } from '../parts.tsx';
import { change } from '../requests.ts';
import type { ViewProps } from '../view-props.ts';
import { DeleteByName } from './delete-by-name.tsx';
import { Form, type Values } from './form.tsx';
import { LimitForm } from './limit-form.tsx';
import { changeTenant } from './settings-change.ts';
import { cardsOf } from './subject-parts.ts';

const forOperator = (Own: FunctionComponent<ViewProps>) => (props: ViewProps) =>
  props.session.kind === 'operator' ? <Own {...props} /> : null;

const Cards = cardsOf('settings', { 10: forOperator(Limit), 30: forOperator(Plan), 90: forOperator(Delete) });

/** What is decided of a tenant: most by the operator, alerts by its admins, exports by any token. */
export function Settings(props: ViewProps) {
  return (
    <main>
      <Title address={props.address} />
      <Cards {...props} />
    </main>
  );
}

function Limit(props: ViewProps) {
  const { tenant, body } = props;
  return (
    <Card title="Storage limit">
      <LimitForm
        label={`Limit of ${tenant}`}
        of={tenant}
        limitBytes={body.limitBytes}
        usedBytes={body.usage ? body.usage.storedBytes + body.usage.reservedBytes : 0}
        used="in use"
        below="Pushes fail until you delete that much. Downloads still work."
        save={(limitBytes) => changeTenant(props, { limitBytes })}
      />
    </Card>
  );
}

function Delete({ tenant, nowMs }: ViewProps) {
  return (
    <DeleteByName
      title="Delete this tenant"
      name={tenant}
      request={(asked, then) => change('DELETE /v1/tenants/{tenant}', { tenant, ...asked }, then)}
      note="Deletes all its repos and tokens. You can't reuse the name."
      nowMs={nowMs}
      onDeleted={() => go(parseAddress(''))}
    />
  );
}

const creations = [
  ['push', 'The first push'],
  ['admin', 'An admin first'],
] as const;

/** The plan's name, and how repos are created. */
function Plan(props: ViewProps) {
  const { body } = props;
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
        run={(values) => changeTenant(props, wanted(values))}
      />
    </Card>
  );
}
