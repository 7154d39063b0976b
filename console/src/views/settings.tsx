import { useState } from 'preact/hooks';
import { formatBytes } from '../../../lambda/rules/sizes.ts';
import { ask } from '../api.ts';
import { LimitField, readLimit, type TypedLimit } from '../limit-field.tsx';
import { Card, Problem, Title } from '../parts.tsx';
import { bytesText, notDone } from '../text.ts';
import type { ViewProps } from '../view-props.ts';

const typedOf = (limitBytes: number | null): TypedLimit => ({
  size: limitBytes === null ? '' : formatBytes(limitBytes),
  isUnlimited: limitBytes === null,
});

/** The operator's: how much a tenant may store. */
function Limit(props: {
  tenant: string;
  limitBytes: number | null;
  storedBytes: number;
  onChanged: () => void;
}) {
  const { tenant, limitBytes, storedBytes, onChanged } = props;
  const now = typedOf(limitBytes);
  const [typed, setTyped] = useState(now);
  const [said, setSaid] = useState<string>();
  const [isWarned, setIsWarned] = useState(false);
  const textOf = ({ size, isUnlimited }: TypedLimit) => isUnlimited || size.trim();
  const type = (next: TypedLimit) => {
    setTyped(next);
    setIsWarned(false);
  };
  const change = async (event: Event) => {
    event.preventDefault();
    const limit = readLimit(typed);
    if ('problem' in limit) return setSaid(limit.problem);
    const { bytes } = limit;
    if (bytes !== null && bytes < storedBytes && !isWarned) {
      setIsWarned(true);
      return setSaid(`Pushes fail until you delete ${bytesText(storedBytes - bytes)}.`);
    }
    const outcome = await ask(`/v1/tenants/${tenant}`, { method: 'PATCH', body: { limitBytes: bytes } });
    if (outcome.kind !== 'ok') return setSaid(outcome.kind === 'refused' ? outcome.detail : notDone);
    setSaid(undefined);
    type(typedOf(bytes));
    onChanged();
  };
  return (
    <Card title="Limit" note={limitBytes === null ? 'unlimited' : bytesText(limitBytes)}>
      <form class="fields" onSubmit={(event) => void change(event)}>
        <LimitField typed={typed} onType={type} />
        <button type="submit" class={isWarned ? 'bad' : ''} disabled={textOf(typed) === textOf(now)}>
          {isWarned ? 'Save anyway' : 'Save'}
        </button>
        <Problem text={said} />
      </form>
    </Card>
  );
}

/** What a tenant's own administrator and the operator decide. */
export function Settings({ tenant, session, address, body, live }: ViewProps) {
  return (
    <main>
      <Title address={address} />
      {session.kind === 'operator' && (
        <Limit
          tenant={tenant}
          limitBytes={body.limitBytes}
          storedBytes={body.usage?.storedBytes ?? 0}
          onChanged={live.askNow}
        />
      )}
    </main>
  );
}
