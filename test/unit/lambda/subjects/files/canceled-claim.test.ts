import { beforeEach, expect, it } from 'vitest';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { objectKey } from '../../../../../lambda/core/rules/names.ts';
import type { TokenRecord } from '../../../../../lambda/frame/access/rules/tokens.ts';
import type { UploadBody, UploadsRequest } from '../../../../../lambda/subjects/files/contract.ts';
import { cancelUploads } from '../../../../../lambda/subjects/files/files.ts';
import { requestUploads } from '../../../../../lambda/subjects/files/uploads.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const repo = 'media';
const mib = 1024 ** 2;
/** Three parts, the last one of 7 bytes. */
const bytes = 10 * mib + 7;
const lifetimeMs = 5 * minute;

let stack: MemoryStack;
let archives: MemoryArchiveStore;
let deps: Deps;

beforeEach(async () => {
  stack = new MemoryStack({ objectBytesMax: 5 * mib });
  archives = new MemoryArchiveStore({ objects: stack.objects });
  Object.assign(stack.deps, replacingDeps(stack.deps, { archives }));
  deps = stack.deps;
  await stack.create(20 * mib);
  await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });
});

async function request(
  files: UploadsRequest['files'],
  { key, token }: { key?: string; token?: TokenRecord } = {},
): Promise<readonly UploadBody[]> {
  const record = await stack.repo(repo);
  if (!record) throw new Error('There is no repo.');
  const asked = { tenant: await stack.record(), record, token, files, lifetimeMs };
  const outcome = await requestUploads(deps, asked, key);
  if (outcome.kind !== 'answered') throw new Error(outcome.kind);
  return outcome.body.uploads;
}

async function one(name = 'film', more: Parameters<typeof request>[1] = {}, size = bytes) {
  const [upload] = await request([{ name, bytes: size }], more);
  if (!upload) throw new Error('There is no answer.');
  return upload;
}

const counted = async () => {
  await stack.consume();
  const { committedBytes, scanned } = await stack.record();
  return [committedBytes, scanned?.storedBytes];
};

it('what relies on a canceled claim is counted, whichever reservations a reconcile read first', async () => {
  stack.objects.put(objectKey({ tenant, repo, oid: 'old' }), 8 * mib, undefined, stack.nowMs);
  await stack.consume({ full: true });
  const upload = await one();
  await counted();
  const { ledger } = stack;
  const reservations = ledger.reservations.bind(ledger);
  const all = async () => allPages(reservations(tenant));
  let small: UploadBody | undefined;
  // Ids are random. That of the second one is read first, before it is written.
  ledger.reservations = async function* () {
    ledger.reservations = reservations;
    yield (await all()).filter(({ id }) => id !== upload.uploadId);
    small = await one('film', {}, 4 * mib).catch(() => undefined);
    await cancelUploads(deps, {
      tenant,
      repo,
      uploadId: upload.uploadId ?? '',
      name: 'film',
      token: undefined,
    });
    yield (await all()).filter(({ id }) => id === upload.uploadId);
  };
  await counted();
  const told = await request(['a', 'b', 'c'].map((name) => ({ name, bytes: 4 * mib })));
  const admitted = told.filter(({ state }) => state === 'upload').length;
  expect(8 * mib + (small?.state === 'upload' ? 4 : 0) * mib + admitted * 4 * mib).toBeLessThanOrEqual(
    20 * mib,
  );
});
