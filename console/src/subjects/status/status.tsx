import { useState } from 'preact/hooks';
import { formatAge } from '../../../../cli/render.ts';
import { releaseText } from '../../../../lambda/core/rules/release.ts';
import type { StatusBody } from '../../../../lambda/subjects/status/contract.ts';
import { formatAddress, parseAddress, tenantAddress } from '../../address.ts';
import { ask, usePoll } from '../../api.ts';
import { Button, Card, Title } from '../../parts.tsx';
import type { ServiceViewProps, SubjectParts } from '../../view-props.ts';
import './status.css';

/** What failed; store, queues and schedule. What is to be done comes first, with how. */
function Status({ address, nowMs }: ServiceViewProps) {
  const { body, askNow } = useStatus();
  const { text, note } = statusLine(body);
  return (
    <main>
      <Title
        address={address}
        note={body && `Checked ${formatAge(body.checkedAt, nowMs)}, lfs-quota ${releaseText(body)}`}
        action={<Button text="Check now" onPress={askNow} />}
      />
      {body !== undefined && (
        <Card title={text} {...(!body && { note })}>
          {body && <Parts body={body} nowMs={nowMs} />}
        </Card>
      )}
    </main>
  );
}

function Parts({ body: { parts, failures }, nowMs }: { body: StatusBody; nowMs: number }) {
  const open = failures?.filter(({ over }) => !over) ?? [];
  return (
    <ul class="parts">
      {[...parts]
        .sort((a, b) => Number(a.state === 'fine') - Number(b.state === 'fine'))
        .map(({ part, state, says, todo }) =>
          state === 'fine' ? (
            <li key={part} class="soft cut">
              <i class="light" aria-hidden="true" />
              {says}
            </li>
          ) : (
            <li key={part} class="notice near cut">
              <p>
                <strong>{says}</strong> <span class="todo">{todo}</span>
                {part === 'failures' &&
                  open.map(({ tenant, kind, failedAt, why, tries }) => (
                    <span key={tenant + kind + failedAt} class="failed">
                      <a href={formatAddress(tenantAddress(tenant))}>{tenant}</a>: {kind}
                      {why !== kind && `, ${why}`}, {formatAge(failedAt, nowMs)}
                      {tries > 1 && `, ${tries} tries`}
                    </span>
                  ))}
              </p>
            </li>
          ),
        )}
    </ul>
  );
}

/** The status in a line, which leads to all of it. */
function StatusLine({ body, nowMs }: { body: StatusBody | null | undefined; nowMs: number }) {
  const { state, text, note } = statusLine(body);
  return (
    <p class={state === 'act' ? 'notice near' : 'notice'} role="status">
      <span>
        <i class={`light ${state}`} aria-hidden="true" />
        <a href={formatAddress({ ...parseAddress(''), view: 'status' })}>
          <strong>{text}</strong>
        </a>
      </span>
      <span class="note">
        {note}
        {body && ` · checked ${formatAge(body.checkedAt, nowMs)}`}
      </span>
    </p>
  );
}

function useTenantsHead(nowMs: number) {
  const { body } = useStatus();
  return { isKnown: body !== undefined, head: <StatusLine body={body} nowMs={nowMs} /> };
}

export const status: SubjectParts = { views: { status: Status }, useTenantsHead };

const againMs = 60_000;

/**
 * What failed; store, queues and schedule, asked again every minute.
 *
 * @returns undefined: it is being asked for. A store that is silent takes some seconds. null: it could not be read.
 */
function useStatus() {
  const [body, setBody] = useState<StatusBody | null>();
  const askNow = usePoll(async () => {
    const outcome = await ask('GET /v1/status', {});
    setBody(outcome.kind === 'ok' ? outcome.body : null);
    return againMs;
  }, '');
  return { body, askNow };
}

function statusLine(body: StatusBody | null | undefined): {
  state: string;
  text: string;
  note: string;
} {
  if (body === undefined) return { state: 'asked', text: 'Checking…', note: 'store, queues and schedule' };
  if (body === null)
    return { state: 'unknown', text: "Can't read the status.", note: 'Retrying every minute.' };
  const { state, parts, store, queues } = body;
  const bad = parts.filter((part) => part.state !== 'fine');
  if (state !== 'fine' || bad.length > 0)
    return { state: 'act', text: 'Needs attention', note: bad.map(({ says }) => says).join(' ') };
  const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0);
  return {
    state,
    text: 'All systems normal',
    note: `store answers in ${store.latencyMs ?? '–'} ms · ${waiting === 0 ? 'nothing' : waiting} waiting`,
  };
}
