import { useState } from 'preact/hooks';
import { formatBytes, parseSize } from '../../lambda/domain/bytes.ts';
import { ask } from './api.ts';
import { Card, Problem } from './parts.tsx';
import { bytesText } from './text.ts';

/** What a person has typed as a limit. An empty field is never "unlimited": that's the box's. */
export interface TypedLimit {
  readonly size: string;
  readonly isUnlimited: boolean;
}

/** The limit that was typed, null for unlimited, or a problem to show. */
export function readLimit({ size, isUnlimited }: TypedLimit): { bytes: number | null } | { problem: string } {
  if (isUnlimited) return { bytes: null };
  if (size.trim() === '') return { problem: 'Enter a size, such as 50 GiB, or check Unlimited.' };
  return parseSize(size);
}

export function LimitField(props: {
  id: string;
  label: string;
  typed: TypedLimit;
  onType: (typed: TypedLimit) => void;
}) {
  const { id, label, typed, onType } = props;
  return (
    <>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        placeholder="50 GiB"
        disabled={typed.isUnlimited}
        value={typed.size}
        onInput={({ currentTarget }) => onType({ ...typed, size: currentTarget.value })}
      />
      <label class="box">
        <input
          type="checkbox"
          checked={typed.isUnlimited}
          onChange={({ currentTarget }) => onType({ ...typed, isUnlimited: currentTarget.checked })}
        />
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
  const [warning, setWarning] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const isSame =
    typed.isUnlimited === now.isUnlimited && (typed.isUnlimited || typed.size.trim() === now.size);
  const type = (next: TypedLimit) => {
    setTyped(next);
    setWarning(undefined);
  };
  const change = async (event: Event) => {
    event.preventDefault();
    const limit = readLimit(typed);
    if ('problem' in limit) return setProblem(limit.problem);
    setProblem(undefined);
    const { bytes } = limit;
    if (bytes !== null && bytes < storedBytes && warning === undefined)
      return setWarning(
        `${tenant} stores ${bytesText(storedBytes)}, more than ${bytesText(bytes)}. Uploads fail until you delete ${bytesText(storedBytes - bytes)}.`,
      );
    const outcome = await ask(`/v1/tenants/${tenant}`, { method: 'PATCH', body: { limitBytes: bytes } });
    if (outcome.kind === 'refused') return setProblem(outcome.detail);
    if (outcome.kind !== 'ok') return setProblem("Couldn't save. Retry.");
    type(typedOf(bytes));
    onChanged();
  };
  return (
    <Card title="Limit" note={limitBytes === null ? 'unlimited now' : `${bytesText(limitBytes)} now`}>
      <form class="fields" onSubmit={(event) => void change(event)}>
        <LimitField id="new-limit" label="Storage limit" typed={typed} onType={type} />
        <Problem text={warning} />
        <button type="submit" class={warning === undefined ? '' : 'bad'} disabled={isSame}>
          {warning === undefined ? 'Save' : 'Save anyway'}
        </button>
        <Problem text={problem} />
      </form>
    </Card>
  );
}
