import { expect, it } from 'vitest';
import { ScanListing } from '../../../../../lambda/core/scan/list-objects.ts';
import { BucketClient } from '../../../../../lambda/core/store/bucket-client.ts';
import { createMultiparts } from '../../../../../lambda/core/store/multiparts.ts';
import { createObjectStore } from '../../../../../lambda/core/store/object-store.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { createUrlSigner } from '../../../../../lambda/core/store/signing.ts';
import { systemClock as clock, systemIds as ids } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { partsProver } from '../../../../../lambda/subjects/files/part-proof.ts';
import { type AskedRequest, errorReply, type Faults, LyingStore } from '../../../../support/lying-store.ts';
import { bucket, credentials } from '../../../../support/store-fixture.ts';

const isPartUrl = ({ isPresigned, query }: AskedRequest) => isPresigned && query.has('partNumber');

async function prove(faults: Faults, times = 1): Promise<{ proofs: boolean[]; left: number; sent: number }> {
  const lying = await LyingStore.start(faults);
  const place = {
    region: 'us-east-1',
    endpoint: lying.url,
    forcePathStyle: true,
    bucket,
    credentials: async () => credentials,
  };
  const client = new BucketClient(place);
  try {
    const provesParts = partsProver({
      archives: createMultiparts({ client }),
      store: createObjectStore({ client, clock }),
      signer: createUrlSigner(place),
      clock,
      ids,
    });
    const proofs: boolean[] = [];
    for (let time = 0; time < times; time += 1) proofs.push(await provesParts());
    const sent = lying.asked.length;
    const { keyCount: left } = await new ScanListing({ client }).listPage({ prefix: '' });
    return { proofs, left, sent };
  } finally {
    client.destroy();
    await lying.stop();
  }
}

it('a store that keeps what files in parts rest on is asked once, and keeps nothing', async () => {
  const once = await prove({});
  expect(once).toMatchObject({ proofs: [true], left: 0 });
  expect(await prove({}, 2)).toEqual({ ...once, proofs: [true, true] });
});

it.each<[string, Faults]>([
  [
    'takes no URLs of parts',
    { instead: (asked) => (isPartUrl(asked) ? errorReply(403, 'AccessDenied') : undefined) },
  ],
  [
    'takes longer parts than were signed',
    { overlooks: (_, asked) => isPartUrl(asked) && asked.body.length === 2 },
  ],
  [
    'takes parts of an upload that was aborted',
    { changes: (reply, asked) => (isPartUrl(asked) && reply.status === 404 ? { status: 200 } : reply) },
  ],
  ['replaces what is there', { overlooks: ({ code }) => code === 'PreconditionFailed' }],
  [
    'knows no parts',
    { instead: ({ query }) => (query.has('uploads') ? errorReply(501, 'NotImplemented') : undefined) },
  ],
])('a store fails that %s, and is asked again', async (_, faults) => {
  expect(await prove(faults, 2)).toMatchObject({ proofs: [false, false], left: 0 });
});

it('one that does not answer proves nothing', async () => {
  const faults: Faults = {
    instead: ({ query }) => (query.has('uploads') ? errorReply(503, 'SlowDown') : undefined),
  };
  await expect(prove(faults)).rejects.toThrow(StoreUnavailableError);
});
