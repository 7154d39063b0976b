import { expect, it } from 'vitest';
import { readJob } from '../../../../../lambda/core/rules/jobs.ts';
import { exportMessage } from '../../../../../lambda/subjects/exports/messages.ts';

const unit = { kind: 'unit', round: 2, state: 'copying', unit: 0, format: 'zip' };
const message = { tenant: 'acme', exportId: '01Abc-_', step: unit };

const read = (sent: unknown) => readJob(exportMessage, JSON.stringify(sent));

it.each([
  { ...message, step: { kind: 'advance' } },
  { ...message, exportId: 'crc32', step: { kind: 'forget' } },
  message,
  { ...message, step: { ...unit, format: 'tar', unit: 999 } },
])('a step of an export is read: %j', (sent) => {
  expect(read({ ...sent, correlationId: 'Root=1-a' })).toEqual({ job: sent, correlationId: 'Root=1-a' });
});

it.each(['hashing', 'copying'])('one of an older version, which says no format, is read: %s', (state) => {
  const sent = { ...message, step: { ...unit, state, format: undefined } };
  const step = { ...unit, state, format: 'tar' };
  expect(read(sent)?.job).toEqual({ ...message, step });
});

it('a correlation id that is none, and what it does not know, are left out', () => {
  const sent = { ...message, correlationId: 'a b', later: 1 };
  expect(read(sent)).toEqual({ job: message, correlationId: undefined });
});

const wrong = {
  'a list': [],
  'no tenant': { ...message, tenant: undefined },
  'a tenant with another name than any': { ...message, tenant: '../acme' },
  'no export': { ...message, exportId: '' },
  'an export that would be another key': { ...message, exportId: 'a/b' },
  'an export with a long id': { ...message, exportId: 'a'.repeat(65) },
  'no step': { ...message, step: undefined },
  'an unknown step': { ...message, step: { kind: 'later' } },
  'a unit without its round': { ...message, step: { ...unit, round: undefined } },
  'round 0': { ...message, step: { ...unit, round: 0 } },
  'an unknown state': { ...message, step: { ...unit, state: 'done' } },
  'an unknown format': { ...message, step: { ...unit, format: 'rar' } },
  'half a unit': { ...message, step: { ...unit, unit: 0.5 } },
  'a negative unit': { ...message, step: { ...unit, unit: -1 } },
};
const bodies = Object.entries(wrong).map(([what, sent]) => [what, JSON.stringify(sent)] as const);

it.each([['no JSON', '{'], ['nothing', ''], ...bodies] as const)(
  'what is no step is undefined: %s',
  (_, body) => {
    expect(readJob(exportMessage, body)).toBeUndefined();
  },
);
