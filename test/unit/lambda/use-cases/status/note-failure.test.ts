import { describe, expect, it } from 'vitest';
import { LedgerUnavailableError, NewerFormatError } from '../../../../../lambda/rules/system.ts';
import { StoreUnavailableError } from '../../../../../lambda/store/rules/store.ts';
import {
  noteFailedRecount,
  noteFailure,
  whyOf,
} from '../../../../../lambda/use-cases/status/note-failure.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';
import { MemoryFailures } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

describe('a failure', () => {
  it.each([
    [new StoreUnavailableError('x'), 'store'],
    [new LedgerUnavailableError('x'), 'table'],
    [new NewerFormatError('x'), 'newer-format'],
    [new Error('x'), 'unexpected'],
    [undefined, 'unexpected'],
  ])('%s is told in a word', (error, why) => expect(whyOf(error)).toBe(why));

  it('is noted with its time', async () => {
    const deps = memoryDeps();
    await noteFailure(deps, { kind: 'recount', tenant: 'acme', tries: 3, why: 'store' });
    const atMs = deps.clock.nowMs();
    expect(await deps.failures.list()).toEqual([
      { kind: 'recount', tenant: 'acme', tries: 3, why: 'store', atMs, sinceMs: atMs },
    ]);
  });

  it('of a recount is noted with the newest one that had committed, if that can be read', async () => {
    const world = new MemoryStack();
    await world.create();
    const { appliedEpoch } = await world.record();
    const failure = { tenant, tries: 1, why: 'store' } as const;
    await noteFailedRecount(world.deps, failure);
    expect(await world.deps.failures.list()).toMatchObject([{ kind: 'recount', ...failure, appliedEpoch }]);
    world.nowMs += 1;
    world.ledger.readTenant = () => Promise.reject(new LedgerUnavailableError('The table does not answer.'));
    await noteFailedRecount(world.deps, failure);
    const [last] = await world.deps.failures.list();
    expect(last).toMatchObject({ ...failure, atMs: world.nowMs });
    expect(last).not.toHaveProperty('appliedEpoch');
  });

  it('that cannot be noted is logged, and breaks nothing', async () => {
    const { log, entries } = recordingLog();
    const failures = new MemoryFailures();
    failures.note = () => Promise.reject(new LedgerUnavailableError('The table does not answer.'));
    await noteFailure(memoryDeps({ failures, log }), {
      kind: 'export',
      tenant: 'acme',
      tries: 1,
      why: 'export',
    });
    expect(entries.map(({ level, message, fields }) => [level, message, fields['tenant']])).toEqual([
      ['warn', 'failure not noted', 'acme'],
    ]);
  });
});
