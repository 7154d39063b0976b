import { useState } from 'preact/hooks';
import { parseSize } from '../../lambda/domain/bytes.ts';
import { ask } from './api.ts';
import { Card, Problem } from './parts.tsx';
import { bytesText } from './text.ts';

/** The operator's: how much a tenant may store. */
export function Limit(props: { tenant: string; limitBytes: number | null; onChanged: () => void }) {
  const { tenant, limitBytes, onChanged } = props;
  const [size, setSize] = useState('');
  const [problem, setProblem] = useState<string>();
  const change = async (event: Event) => {
    event.preventDefault();
    const wanted = size.trim() === '' ? null : parseSize(size);
    if (wanted === undefined) return setProblem('Give the limit as a size, such as 50 GiB.');
    const outcome = await ask(`/v1/tenants/${tenant}`, { method: 'PATCH', body: { limitBytes: wanted } });
    if (outcome.kind === 'refused') return setProblem(outcome.detail);
    if (outcome.kind !== 'ok') return setProblem('It could not be changed now: try again in a moment.');
    setProblem(undefined);
    setSize('');
    onChanged();
  };
  return (
    <Card title="Limit" note={limitBytes === null ? 'none now' : `${bytesText(limitBytes)} now`}>
      <form class="fields" onSubmit={(event) => void change(event)}>
        <label for="new-limit">New limit, such as 50 GiB; empty: none</label>
        <input
          id="new-limit"
          type="text"
          autocomplete="off"
          value={size}
          onInput={({ currentTarget }) => setSize(currentTarget.value)}
        />
        <button type="submit">Change the limit</button>
        <Problem text={problem} />
      </form>
    </Card>
  );
}
