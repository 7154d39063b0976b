import { expect, it } from 'vitest';
import type { ObjectListing } from '../../../../../lambda/store/rules/store.ts';
import { gatherObjects } from '../../../../../lambda/use-cases/exports/gather-objects.ts';
import { ExportLease } from '../../../../../lambda/use-cases/exports/lease.ts';
import { ExportStack, exportPath } from '../../../../support/export-stack.ts';

/** An export of one repo, whose lease was taken. */
async function leased() {
  const stack = new ExportStack();
  await stack.storeMany(3, 900);
  await stack.start({ repo: 'app' });
  const { job, lease } = await ExportLease.take(stack.deps, exportPath);
  if (!job || !lease) throw new Error('The export is open.');
  return { stack, job, lease };
}

it('an export keeps its lease while its objects are listed', async () => {
  const { stack, job, lease } = await leased();
  const { listing } = stack.deps;
  const slow: ObjectListing = {
    listPage: (request) => {
      stack.clock.advance(30_000);
      return listing.listPage(request);
    },
    listFolders: (request) => listing.listFolders(request),
  };
  expect(await gatherObjects({ ...stack.deps, listing: slow }, { job, lease })).toMatchObject({
    missing: [],
  });
  const { leaseUntilMs } = await stack.job();
  expect(leaseUntilMs).toBe(job.leaseUntilMs + 30_000);
});

it('an export whose list of objects is gone fails as such, and exports nothing else', async () => {
  const { stack, job, lease } = await leased();
  const listed = { ...job, request: { ...job.request, listedObjects: 1 } };
  await expect(gatherObjects(stack.deps, { job: listed, lease })).rejects.toThrow(
    'The list of the objects that were asked for is gone.',
  );
});
