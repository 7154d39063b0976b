import { useState } from 'preact/hooks';
import { formatObjects, formatUntil } from '../../../cli/render.ts';
import type { DeletePlanBody } from '../../../lambda/frame/contract/deletes.ts';
import { Button, Card, Problem } from '../parts.tsx';
import type { change } from '../requests.ts';
import { bytesText } from '../text.ts';
import { useDialog } from './dialog.tsx';

/** Deletes a repo or a tenant, once its name is typed. */
export function DeleteByName(props: {
  title: string;
  name: string;
  /** Asks for the delete, or for what it would do. */
  request: (
    asked: { query?: { dryRun: true } },
    then: (plan: DeletePlanBody) => void,
  ) => ReturnType<typeof change>;
  /** What it means. */
  note: string;
  nowMs: number;
  onDeleted: () => void;
}) {
  const { title, name, request, note, nowMs, onDeleted } = props;
  const { dialog, ask } = useDialog();
  const [problem, setProblem] = useState<string>();
  const askFor = ({ objectCount, bytes, dueAt }: DeletePlanBody) =>
    ask({
      title: `Delete ${name}?`,
      action: `Delete ${name}`,
      keep: 'Keep',
      text: (
        <p>
          Deletes {objectCount === null ? 'all objects' : formatObjects(objectCount)}
          {bytes !== null && `, ${bytesText(bytes)}`}. It starts {formatUntil(dueAt, nowMs)}. {note}
        </p>
      ),
      start: { typed: '' },
      fields: () => [{ name: 'typed', label: `Type ${name}` }],
      isReady: ({ typed }) => typed === name,
      run: () => request({}, onDeleted),
    });
  const plan = async () => setProblem(await request({ query: { dryRun: true } }, askFor));
  return (
    <Card title={title}>
      <p>{note}</p>
      <Problem text={problem} />
      <p class="under">
        <Button text={`Delete ${name}…`} kind="bad" onPress={plan} />
      </p>
      {dialog}
    </Card>
  );
}
