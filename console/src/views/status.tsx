import { useState } from 'preact/hooks';
import { formatAge } from '../../../cli/render.ts';
import type { StatusBody } from '../../../lambda/api/contract/status.ts';
import { ask, usePoll } from '../api.ts';
import { Card, Title } from '../parts.tsx';
import type { ServiceViewProps } from '../view-props.ts';

const againMs = 60_000;

export function Status({ address, nowMs }: ServiceViewProps) {
  const [body, setBody] = useState<StatusBody | null>();
  usePoll(async () => {
    const outcome = await ask<StatusBody>('/v1/status');
    setBody(outcome.kind === 'ok' ? outcome.body : null);
    return againMs;
  }, '');
  return (
    <main>
      <Title address={address} />
      <StatusCard body={body} nowMs={nowMs} />
    </main>
  );
}

/**
 * What failed; store, queues and schedule at a glance. What is to be done comes first, with how.
 *
 * @param props.body undefined: it is being asked for. A store that is silent takes some seconds. null: it could not be read.
 */
export function StatusCard({ body, nowMs }: { body: StatusBody | null | undefined; nowMs: number }) {
  if (body === undefined) return <p class="soft under">Checking store, queues and schedule…</p>;
  if (!body) return <p class="soft under">Can't read the status. Retrying every minute.</p>;
  const { parts, failures, checkedAt } = body;
  const open = failures?.filter(({ over }) => !over) ?? [];
  const isFine = body.state === 'fine';
  return (
    <Card
      title="Status"
      note={
        <span role="status">
          {isFine ? 'nothing failed' : 'needs attention'}, asked {formatAge(checkedAt, nowMs)}
        </span>
      }
    >
      <ul class="parts">
        {[...parts]
          .sort((a, b) => Number(a.state === 'fine') - Number(b.state === 'fine'))
          .map(({ part, state, says, todo }) =>
            state === 'fine' ? (
              <li key={part} class="soft">
                {says}
              </li>
            ) : (
              <li key={part} class="notice near">
                <p>
                  <strong>{says}</strong> <span class="todo">{todo}</span>
                  {part === 'failures' &&
                    open.map(({ tenant, kind, failedAt, why, tries }) => (
                      <span key={tenant + kind + failedAt} class="failed">
                        <a href={`#${tenant}`}>{tenant}</a>: {kind}
                        {why !== kind && `, ${why}`}, {formatAge(failedAt, nowMs)}
                        {tries > 1 && `, ${tries} tries`}
                      </span>
                    ))}
                </p>
              </li>
            ),
          )}
      </ul>
    </Card>
  );
}
