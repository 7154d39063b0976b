import { useState } from 'preact/hooks';
import type { StatusBody } from '../../../../lambda/subjects/status/contract.ts';
import { ask, usePoll } from '../../api.ts';

const againMs = 60_000;

/**
 * What failed; store, queues and schedule, asked again every minute.
 *
 * @returns undefined: it is being asked for. A store that is silent takes some seconds. null: it could not be read.
 */
export function useStatus() {
  const [body, setBody] = useState<StatusBody | null>();
  const askNow = usePoll(async () => {
    const outcome = await ask('GET /v1/status', {});
    setBody(outcome.kind === 'ok' ? outcome.body : null);
    return againMs;
  }, '');
  return { body, askNow };
}

/** The status in a line. */
export function statusLine(body: StatusBody | null | undefined): {
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
