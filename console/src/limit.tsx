import { useState } from 'preact/hooks';
import { formatBytes, parseSize } from '../../lambda/domain/bytes.ts';
import { ask } from './api.ts';
import { Card, Problem } from './parts.tsx';
import { bytesText, notDone } from './text.ts';

/** A limit as it was typed. An empty field is never "unlimited": that's the box's. */
export interface TypedLimit {
  readonly size: string;
  readonly isUnlimited: boolean;
}

/** The limit that was typed, null for unlimited, or a problem to show. */
export function readLimit({ size, isUnlimited }: TypedLimit): { bytes: number | null } | { problem: string } {
  return isUnlimited ? { bytes: null } : parseSize(size);
}

export function LimitField(props: { typed: TypedLimit; onType: (typed: TypedLimit) => void }) {
  const { typed, onType } = props;
  return (
    <>
      <label for="limit">Storage limit</label>
      <input
        id="limit"
        type="text"
        autocomplete="off"
        disabled={typed.isUnlimited}
        value={typed.size}
        onInput={({ currentTarget }) => onType({ ...typed, size: currentTarget.value })}
      />
      <label>
        <input
          type="checkbox"
          checked={typed.isUnlimited}
          onChange={({ currentTarget }) => onType({ ...typed, isUnlimited: currentTarget.checked })}
        />{' '}
        Unlimited
      </label>
    </>
  );
}

const typedOf = (limitBytes: number | null): TypedLimit => ({
  size: limitBytes === null ? '' : formatBytes(limitBytes),
  isUnlimited: limitBytes === null,
});

/** The operator's: how much a tenant may store. */
export function Limit(props: {
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
      return setSaid(`Uploads fail until you delete ${bytesText(storedBytes - bytes)}.`);
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
