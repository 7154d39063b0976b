import { type Check, type Finding, fail, pass, warn } from './check.ts';
import type { Probe } from './probe.ts';

/** Does a request see what the one before it did? */
export const consistencyChecks: readonly Check[] = [
  { id: 'head-after-put', run: headAfterPut },
  { id: 'list-after-put', run: listAfterPut },
  { id: 'head-after-delete', run: headAfterDelete },
  { id: 'list-after-delete', run: listAfterDelete },
  { id: 'delete', run: deleteTwice },
  { id: 'delete-many', run: deleteMany },
];

const roundsUsual = 10;
const roundsThorough = 50;

/** In how many rounds an answer was out of date. */
interface Stale {
  readonly rounds: number;
  readonly headAfterPut: number;
  readonly listAfterPut: number;
  readonly headAfterDelete: number;
  readonly listAfterDelete: number;
}

/** Looks before each change too: a store or a cache may remember that there was nothing. */
function countStale(probe: Probe): Promise<Stale> {
  return probe.once('stale answers', async () => {
    const rounds = probe.target.isThorough ? roundsThorough : roundsUsual;
    const stale = { rounds, headAfterPut: 0, listAfterPut: 0, headAfterDelete: 0, listAfterDelete: 0 };
    const prefix = `${probe.newKey()}/`;
    for (let round = 0; round < rounds; round += 1) {
      const key = `${prefix}${round}`;
      const isListed = async () => (await probe.list({ prefix })).keys.some((listed) => listed.key === key);
      await probe.head(key);
      await isListed();
      await probe.put(key, Buffer.from('x'));
      if (!(await isListed())) stale.listAfterPut += 1;
      if ((await probe.head(key)) === undefined) stale.headAfterPut += 1;
      await probe.delete(key);
      if (await isListed()) stale.listAfterDelete += 1;
      if ((await probe.head(key)) !== undefined) stale.headAfterDelete += 1;
    }
    return stale;
  });
}

async function headAfterPut(probe: Probe): Promise<Finding> {
  const { rounds, headAfterPut: stale } = await countStale(probe);
  if (stale === 0) return pass(`A HEAD sees an object as soon as it is uploaded (${rounds} of ${rounds}).`);
  return fail(
    `In ${stale} of ${rounds} rounds a HEAD did not see an object that had just been uploaded.`,
    'Do not use this store: git-lfs verifies the last upload of a batch, and would report it as lost.',
  );
}

async function listAfterPut(probe: Probe): Promise<Finding> {
  const { rounds, listAfterPut: stale, listAfterDelete } = await countStale(probe);
  const isStrong = stale === 0 && listAfterDelete === 0;
  const facts = { listConsistency: isStrong ? ('strong' as const) : ('eventual' as const) };
  if (stale === 0)
    return pass(`A listing has an object as soon as it is uploaded (${rounds} of ${rounds}).`, facts);
  return fail(
    `In ${stale} of ${rounds} rounds a listing lacked an object that had just been uploaded.`,
    'Do not use this store: such objects would not be counted, and a tenant could exceed its limit.',
    facts,
  );
}

async function headAfterDelete(probe: Probe): Promise<Finding> {
  const { rounds, headAfterDelete: stale } = await countStale(probe);
  if (stale === 0)
    return pass(`A HEAD does not see an object any more once it is deleted (${rounds} of ${rounds}).`);
  return fail(
    `In ${stale} of ${rounds} rounds a HEAD still saw an object that had been deleted.`,
    'Do not use this store: a push would leave such an object out as already stored, and lose it.',
  );
}

async function listAfterDelete(probe: Probe): Promise<Finding> {
  const { rounds, listAfterDelete: stale } = await countStale(probe);
  if (stale === 0) return pass(`A listing lacks an object once it is deleted (${rounds} of ${rounds}).`);
  return warn(
    `In ${stale} of ${rounds} rounds a listing still had an object that had been deleted.`,
    'The store can be used, but what is freed shows late, and counts until then.',
  );
}

async function deleteTwice(probe: Probe): Promise<Finding> {
  const key = probe.newKey();
  await probe.put(key, Buffer.from('x'));
  const advice = 'The service deletes objects, and repeats a delete: check that the key may delete.';
  const deletes = [
    ['an object', key],
    ['an object that is already deleted', key],
    ['an object that never was', probe.newKey()],
  ] as const;
  for (const [what, deleted] of deletes) {
    try {
      await probe.delete(deleted);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return fail(`Deleting ${what} does not work: ${error.message}`, advice);
    }
    if ((await probe.head(deleted)) !== undefined)
      return fail(
        `After deleting ${what} it is still there.`,
        'Do not use this store: nothing can be freed.',
      );
  }
  return pass('A delete removes an object, and repeating it is no error.');
}

/** By one request, if the store knows DeleteObjects. Else by one for each. */
async function deleteMany(probe: Probe): Promise<Finding> {
  const keys = Array.from({ length: 3 }, () => probe.newKey());
  for (const key of keys) await probe.put(key, Buffer.from('many'));
  try {
    await probe.delete(...keys);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return fail(
      `Deleting several objects at once doesn't work: ${error.message}`,
      'Check that the key has the permission to delete.',
    );
  }
  for (const key of keys)
    if ((await probe.head(key)) !== undefined)
      return fail(
        'The store reports that it has deleted several objects at once, and one is still there.',
        "Don't use this store: usage would fall, and nothing is freed.",
      );
  return pass('Several objects at once are deleted, and each is gone.');
}
