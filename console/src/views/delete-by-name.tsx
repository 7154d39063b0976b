import { useState } from 'preact/hooks';
import { formatObjects, formatUntil } from '../../../cli/render.ts';
import type { DeletePlanBody } from '../../../lambda/api/contract/deletes.ts';
import { Card, Problem } from '../parts.tsx';
import { change } from '../requests.ts';
import { bytesText } from '../text.ts';
import { Confirm } from './dialog.tsx';
import { TextField } from './fields.tsx';

/** Deletes a repo or a tenant, once its name is typed. */
export function DeleteByName(props: {
  title: string;
  name: string;
  path: string;
  /** What it means. */
  note: string;
  nowMs: number;
  onDeleted: () => void;
}) {
  const { title, name, path, note, nowMs, onDeleted } = props;
  const [isAsking, setIsAsking] = useState(false);
  const [typed, setTyped] = useState('');
  const [plan, setPlan] = useState<DeletePlanBody>();
  const [problem, setProblem] = useState<string>();
  const open = async () => {
    const asked = await change<DeletePlanBody>(`${path}?dryRun=true`, { method: 'DELETE' });
    setPlan(asked.body);
    setProblem(asked.problem);
    setTyped('');
    setIsAsking(asked.body !== undefined);
  };
  const run = async () => {
    const done = await change(path, { method: 'DELETE' });
    if (done.problem === undefined) onDeleted();
    return done.problem;
  };
  return (
    <Card title={title}>
      <p>{note}</p>
      <Problem text={problem} />
      <p class="under">
        <button type="button" class="bad" onClick={() => void open()}>
          Delete {name}…
        </button>
      </p>
      {isAsking && plan && (
        <Confirm
          title={`Delete ${name}?`}
          action={`Delete ${name}`}
          isReady={typed === name}
          run={run}
          onClose={() => setIsAsking(false)}
        >
          <p>
            Deletes {plan.objectCount === null ? 'all objects' : formatObjects(plan.objectCount)}
            {plan.bytes !== null && `, ${bytesText(plan.bytes)}`}. It starts {formatUntil(plan.dueAt, nowMs)}.{' '}
            {note}
          </p>
          <div class="fields">
            <TextField label={`Type ${name}`} value={typed} onType={setTyped} isFirst />
          </div>
        </Confirm>
      )}
    </Card>
  );
}
