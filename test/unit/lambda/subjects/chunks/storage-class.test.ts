import { expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';

it.each([null, 'STANDARD_IA'])(
  'a chunked upload keeps the storage class of its object: %s',
  async (storageClass) => {
    const stack = new MemoryStack({ chunkedAboveBytes: 1000 });
    await stack.create();
    const [oid, repo] = ['b'.repeat(64), 'game'];
    const objects = new Map([[oid, 2000]]);
    const chunked = new Set([oid]);
    await admitUpload(stack.deps, { tenant: await stack.record(), repo, objects, chunked, storageClass });
    const uploads = await stack.deps.chunkedUploads.ofObject({ tenant, repo, oid });
    expect(uploads.map((upload) => upload.storageClass)).toEqual([storageClass ?? undefined]);
  },
);
