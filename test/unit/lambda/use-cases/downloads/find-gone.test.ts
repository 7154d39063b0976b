import { describe, expect, it } from 'vitest';
import { LedgerUnavailableError } from '../../../../../lambda/rules/system.ts';
import { deleteRepo } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { findGone } from '../../../../../lambda/use-cases/downloads/find-gone.ts';
import { offerDownload } from '../../../../../lambda/use-cases/downloads/offer-download.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const path = { tenant, repo: 'app' };

describe('what is missing', () => {
  it('is said to be gone if a clean-up has deleted it', async () => {
    const world = new MemoryStack();
    world.put({ [`app/${oidOf(1)}`]: 5 });
    await world.create();
    await world.ledger.noteGone({ ...path, oids: [oidOf(1), oidOf(2)], atMs: 77 });
    const objects = new Map([1, 2, 3].map((index) => [oidOf(index), 5]));
    const outcome = await offerDownload(world.deps, {
      tenant: await world.record(),
      tokenId: 't',
      repo: 'app',
      objects,
    });
    if (outcome.kind !== 'answered') throw new Error(outcome.kind);
    expect([...outcome.verdicts.values()]).toMatchObject([
      { kind: 'download' },
      { kind: 'gone', atMs: 77 },
      { kind: 'missing' },
    ]);
  });

  it('is only missing if its repo was deleted since the clean-up', async () => {
    const world = new MemoryStack();
    world.put({ [`app/${oidOf(1)}`]: 5 });
    await world.create();
    const find = () => findGone(world.deps, { ...path, oids: [oidOf(1), oidOf(2)] });
    await world.ledger.noteGone({ ...path, oids: [oidOf(1)], atMs: world.nowMs });
    expect([...(await find()).keys()]).toEqual([oidOf(1)]);
    await deleteRepo(world.deps, { ...path, dryRun: false });
    await world.pass(60 * minute);
    expect((await world.ledger.readRepo(path))?.closedAtMs).toBeNull();
    expect(await find()).toEqual(new Map());
    // A clean-up of the repo that has its name now tells as before.
    await world.ledger.noteGone({ ...path, oids: [oidOf(2)], atMs: world.nowMs });
    expect(await find()).toEqual(new Map([[oidOf(2), world.nowMs]]));
  });

  it('is only missing if the ledger does not say why', async () => {
    const { deps } = new MemoryStack();
    const { log, entries } = recordingLog();
    const failing = (error: Error) => ({ ...deps.ledger, goneOf: () => Promise.reject(error) });
    const ask = (error: Error) => findGone({ ledger: failing(error), log }, { ...path, oids: [oidOf(1)] });
    expect(await ask(new LedgerUnavailableError('Down.'))).toEqual(new Map());
    expect(entries).toEqual([
      { level: 'warn', message: 'it is not known why objects are missing', fields: path },
    ]);
    await expect(ask(new TypeError('A mistake.'))).rejects.toThrow('A mistake.');
  });

  it('is not asked for if nothing is missing', async () => {
    const { deps } = new MemoryStack();
    const ledger = { ...deps.ledger, goneOf: () => Promise.reject(new Error('Asked.')) };
    expect(await findGone({ ...deps, ledger }, { ...path, oids: [] })).toEqual(new Map());
  });
});
