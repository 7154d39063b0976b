import { useState } from 'preact/hooks';
import { formatAge, formatObjects } from '../../../../cli/render.ts';
import { Button, Card, Code, Problem } from '../../parts.tsx';
import { change, useRead } from '../../requests.ts';
import { bytesText, timeText } from '../../text.ts';
import type { RepoProps, SubjectParts } from '../../view-props.ts';
import { gcStep } from './gc-step.ts';
import './gc.css';

const busyMs = 10_000;

const sumText = ({ objectCount, bytes }: { objectCount: number; bytes: number }) =>
  `${formatObjects(objectCount)}, ${bytesText(bytes)}`;

/** Garbage collection in three steps. Two of them need a clone: the page shows their lines. */
function Gc({ tenant, repo: { repo }, nowMs }: RepoProps) {
  const place = { tenant, repo };
  const { body, read } = useRead('GET /v1/tenants/{tenant}/repos/{repo}/gc', {
    ...place,
    againMs: (now) => (gcStep(now) > 0 ? busyMs : null),
  });
  const [problem, setProblem] = useState<string>();
  const start = () => change('POST /v1/tenants/{tenant}/repos/{repo}/gc', { ...place, body: {} });
  const cancel = () => change('DELETE /v1/tenants/{tenant}/repos/{repo}/gc', place);
  const press = (act: typeof start) => async () => {
    setProblem(await act());
    read();
  };
  const step = body ? gcStep(body) : 0;
  const run = `lfs-quota gc ${tenant} ${repo} --clone ${repo}.git`;
  return (
    <Card title="Garbage collection">
      <p>Deletes objects that no branch or tag references. It takes about a day.</p>
      {body && step === 0 && body.endedAt !== null && (
        <p class="note">
          The last one ended {formatAge(body.endedAt, nowMs)} and deleted {sumText(body.deleted)}.
        </p>
      )}
      {body && step > 0 && (
        <ol class="gc">
          {[
            ['1. Watch pushes', `Since ${formatAge(body.openedAt, nowMs)}. Pushes protect their objects.`],
            [
              '2. Scan a clone',
              `From ${timeText(body.snapshotFrom, nowMs)}. It only shows what would be deleted.`,
            ],
            [
              '3. Delete',
              body.found ? `${sumText(body.found.candidates)}; the rest stays.` : 'You see the list first.',
            ],
          ].map(([name, note], index) => (
            <li key={name} class={index + 1 < step ? 'done' : index + 1 === step ? 'now' : ''}>
              <p class="strong">{name}</p>
              <p class="note">{note}</p>
            </li>
          ))}
        </ol>
      )}
      {step === 2 && (
        <Code name="the scan" text={`git clone --mirror YOUR-REPOSITORY-URL ${repo}.git\n${run}`} />
      )}
      {step === 3 && <Code name="the delete" text={`${run} --delete`} />}
      <Problem text={problem ?? body?.failure?.message} />
      <p class="under">
        {step === 0 ? (
          <Button text="Start" onPress={press(start)} />
        ) : (
          <Button text="Cancel" kind="quiet" onPress={press(cancel)} />
        )}
      </p>
    </Card>
  );
}

export const gc: SubjectParts = { repoSettings: { 40: Gc } };
