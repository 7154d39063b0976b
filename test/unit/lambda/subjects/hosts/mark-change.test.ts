import { expect, it } from 'vitest';
import type { TenantRecord } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { AuditTrail } from '../../../../../lambda/frame/access/audit.ts';
import { problem } from '../../../../../lambda/frame/api/problems.ts';
import { markChange } from '../../../../../lambda/subjects/hosts/mark-change.ts';

const tenant = { tenant: 'acme' } as TenantRecord;
const full = () => problem('linked-repos-full', 'No room.');
const change = (trail = new AuditTrail()) => ({ tenant, repo: 'game', trail });
const words = { field: 'gitHost', shown: (mark: string) => ({ host: mark }), full };

it('writes a mark, and then notes what it was and became', async () => {
  const trail = new AuditTrail();
  let written = 0;
  const write = async () => {
    expect(trail.changes).toEqual({ before: null, after: null });
    written += 1;
  };
  const prepared = markChange(
    { kind: 'ready', before: undefined, after: 'forge', write },
    change(trail),
    words,
  );
  if (!('write' in prepared)) throw new Error('It was refused.');
  expect(written).toBe(0);
  await prepared.write();
  expect(written).toBe(1);
  expect(trail.changes).toEqual({ before: { gitHost: null }, after: { gitHost: { host: 'forge' } } });
});

it.each([
  ['no-repo', 404, 'acme'],
  ['repo-closed', 409, 'acme/game'],
  ['full', 409, 'No room.'],
] as const)('is refused: %s', (kind, status, text) => {
  const prepared = markChange<string>({ kind }, change(), words);
  if (!('refusal' in prepared)) throw new Error('It was prepared.');
  expect(prepared.refusal.statusCode).toBe(status);
  expect(prepared.refusal.body).toContain(text);
});
