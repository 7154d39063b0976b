import { beforeEach, describe, expect, it } from 'vitest';
import { releaseLock } from '../../../../../lambda/use-cases/locks/release-lock.ts';
import { takeLock } from '../../../../../lambda/use-cases/locks/take-lock.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const place = { tenant: 'acme', repo: 'game' };
const tokenOf = (secret: string, user: string) => tokenRecord(secret, { tenant: 'acme', user });
const [ada, alsoAda, bob] = [tokenOf('one', 'ada'), tokenOf('two', 'ada'), tokenOf('three', 'bob')];

describe('a lock', () => {
  const { log, entries } = recordingLog();
  const deps = memoryDeps({ log });
  let lockId: string;
  const release = (token: typeof ada, isForced = false) =>
    releaseLock(deps, { ...place, lockId, isForced, token });

  beforeEach(async () => {
    entries.length = 0;
    await deps.locks.releaseSome({ tenant: 'acme', locksMax: 10 });
    const taken = await takeLock(deps, { ...place, path: 'a.bin', token: ada });
    if (taken.kind !== 'taken') throw new Error(taken.kind);
    lockId = taken.lock.id;
  });

  it('is released by any token of its user, and nothing is logged', async () => {
    expect(await release(alsoAda)).toMatchObject({ kind: 'released', lock: { id: lockId } });
    expect(await release(alsoAda, true)).toEqual({ kind: 'absent' });
    expect(entries).toEqual([]);
  });

  it('of another is released by force alone, and the log says by which token', async () => {
    expect(await release(bob)).toMatchObject({ kind: 'of-another', lock: { ownerName: 'ada' } });
    expect(entries).toEqual([]);
    expect(await release(bob, true)).toMatchObject({ kind: 'released', lock: { ownerName: 'ada' } });
    const fields = { ...place, lockId, tokenId: bob.tokenId };
    expect(entries).toEqual([{ level: 'info', message: 'lock taken away', fields }]);
    expect(JSON.stringify(entries)).not.toContain('a.bin');
  });

  it('of one’s own is not taken away by force', async () => {
    expect(await release(ada, true)).toMatchObject({ kind: 'released' });
    expect(entries).toEqual([]);
  });

  it.each(['', '1', 'x'.repeat(52), `${'0'.repeat(40)}#`])('is none with the id %j', async (id) => {
    lockId = id;
    expect(await release(ada, true)).toEqual({ kind: 'absent' });
  });
});
