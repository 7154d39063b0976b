import { describe, expect, it, vi } from 'vitest';
import { reposMax } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { cdnBytesMax, cdnSigner } from '../../../../../lambda/core/store/cdn.ts';
import { privateKeyIn } from '../../../../../lambda/core/store/rules/cdn-keys.ts';
import { createUrlSigner } from '../../../../../lambda/core/store/signing.ts';
import { lfsMediaType } from '../../../../../lambda/frame/api/http.ts';
import { create } from '../../../../../lambda/functions/lfs/lfs-batch.ts';
import { newCdnKey, passesCloudFront } from '../../../../support/cdn.ts';
import { batchRoute, httpEvent, noContext } from '../../../../support/http-event.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryTokenStore } from '../../../../support/memory/stores.ts';
import { unlimitedRepo } from '../../../../support/tenant-record.ts';
import { tokenRecord } from '../../../../support/token-record.ts';
import { filesBelow, readText } from '../../../docs/pages.ts';

const [tenant, repo] = ['acme', 'game'];
const token = `lfsq_${'a'.repeat(40)}`;
const oid = 'b'.repeat(64);

/** Asks to upload one object of 60 bytes to a tenant with a limit of 100. */
async function upload(prepare: (ledger: MemoryLedger, clock: ManualClock) => Promise<unknown>) {
  const [ledger, tokens, clock] = [new MemoryLedger(), new MemoryTokenStore(), new ManualClock()];
  const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: clock.nowMs() };
  const account = { tenant, plan: null, limitBytes: 100, createdAtMs: 1, scanned, dueAtMs: 1 };
  await ledger.createTenant(account);
  await tokens.put(tokenRecord(token, { tenant }));
  await prepare(ledger, clock);
  const event = httpEvent({
    headers: { authorization: `Bearer ${token}`, 'content-type': lfsMediaType, accept: lfsMediaType },
    routeKey: batchRoute,
    pathParameters: { tenant, repo: `${repo}.git` },
    body: JSON.stringify({ operation: 'upload', objects: [{ oid, size: 60 }] }),
  });
  const handle = create(memoryDeps({ ledger, tokens, clock }));
  return handle(event, noContext);
}

describe('a batch to a repo that is not known, of a tenant with the maximum of repos', () => {
  const full = async (ledger: MemoryLedger) => {
    const record = await ledger.readTenant(tenant);
    vi.spyOn(ledger, 'readTenant').mockResolvedValue(record && { ...record, repoCount: reposMax });
  };

  it('is answered what to do', async () => {
    const { statusCode, body } = await upload(full);
    expect(statusCode).toBe(422);
    expect(body).toContain('acme has 100,000 repos, the maximum. Push to an existing one, or delete some');
  });

  it('is admitted if the repo is known', async () => {
    const { statusCode } = await upload(async (ledger) => {
      await full(ledger);
      await ledger.markDirty({ tenant, repo, dirtyToken: 'd' });
    });
    expect(statusCode).toBe(200);
  });
});

describe('a batch that cannot be decided yet', () => {
  it.each([
    [
      'near the limit, while another reconcile goes on',
      async (ledger: MemoryLedger, clock: ManualClock) => {
        await ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 90, limitBytes: 100 });
        const nowMs = clock.nowMs();
        await ledger.beginReconcile({ tenant, holder: 'h', nowMs, leaseUntilMs: nowMs + 3_600_000 });
      },
    ],
    [
      'for an object that is being deleted',
      async (ledger: MemoryLedger, clock: ManualClock) => {
        const dueAtMs = clock.nowMs();
        const state = 'deleting' as const;
        const objects = new Map([[oid, 60]]);
        const deletion = { id: 'd1', repo, state, objects, dueAtMs, deadlineMs: dueAtMs + 60_000 };
        await ledger.putDeletion({ tenant, deletion });
      },
    ],
  ])('%s: 429 with the Retry-After without which git-lfs would give up', async (_what, prepare) => {
    const { statusCode, headers, body } = await upload(prepare);
    expect(statusCode).toBe(429);
    const seconds = String(headers?.['retry-after']);
    expect(seconds).toMatch(/^[1-9]\d{0,2}$/);
    expect(body).toContain(`Retry in ${seconds} second`);
  });

  it('is the only thing that functions answer with 429', () => {
    const places = filesBelow('lambda')
      .filter((file) => file.endsWith('.ts') && !/\/contract\/|contract\.ts$/.test(file))
      .flatMap((file) =>
        readText(file)
          .split('\n')
          .filter((line) => /\b429\b/.test(line) && !/^\s*(?:\/?\*|\/\/)/.test(line))
          .map((line) => `${file}: ${line.trim()}`),
      );
    expect(places.sort()).toEqual([
      // Those of the store, and of a git host, are answers to us. Those of problems.ts are of the management API, which
      // no client of git-lfs asks.
      'lambda/core/store/bucket-client.ts: const throttlingStatuses: ReadonlySet<number> = new Set([429, 503]);',
      'lambda/core/table/sdk.ts: const transientStatuses: ReadonlySet<number> = new Set([408, 425, 429]);',
      'lambda/subjects/downloads/lfs/copier.ts: const isForNow = status >= 500 || status === 429;',
      'lambda/subjects/hosts/git-hosts.ts: if (status === 429 || (status === 403 && isUsedUp(headers)))',
      'lambda/subjects/lfs/http.ts: { statusCode: 429, message, requestId },',
    ]);
  });
});

describe('a batch of a stage with CloudFront', () => {
  const key = newCdnKey();
  const cdn = {
    url: 'https://d1.cloudfront.net',
    keyId: 'K1',
  };
  const oids = Array.from({ length: 100 }, (_, index) => sha256Hex(`${index}`));
  const store = {
    bucket: 'objects',
    region: 'eu-central-1',
    credentials: async () => ({ accessKeyId: 'AKIA', secretAccessKey: 'secret' }),
  };

  /** @param large of these bytes in the store, though all others have 5. */
  async function answerTo(operation: string, large: ReadonlyMap<string, number>, pem = key.privateKey) {
    const [ledger, tokens, objects] = [new MemoryLedger(), new MemoryTokenStore(), new MemoryObjectStore()];
    const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: 1 };
    await ledger.createTenant({ tenant, plan: null, limitBytes: 1e6, createdAtMs: 1, scanned, dueAtMs: 1 });
    await ledger.markDirty({ tenant, repo, dirtyToken: 'd' });
    await tokens.put(tokenRecord(token, { tenant }));
    const sizeOf = (each: string) => large.get(each) ?? 5;
    if (operation === 'download')
      for (const each of oids) objects.put(`${tenant}/${repo}/${each}`, sizeOf(each));
    const signer = cdnSigner(createUrlSigner(store), {
      ...cdn,
      key: async () => privateKeyIn(pem, key.publicKey),
    });
    const handle = create(memoryDeps({ ledger, tokens, objects, signer }));
    const event = httpEvent({
      headers: { authorization: `Bearer ${token}`, 'content-type': lfsMediaType, accept: lfsMediaType },
      routeKey: batchRoute,
      pathParameters: { tenant, repo: `${repo}.git` },
      body: JSON.stringify({ operation, objects: oids.map((each) => ({ oid: each, size: sizeOf(each) })) }),
    });
    return handle(event, noContext);
  }

  async function actionsOf(operation: string, large: ReadonlyMap<string, number> = new Map()) {
    const { statusCode, body } = await answerTo(operation, large);
    expect(statusCode).toBe(200);
    const answers: { oid: string; actions: Record<string, { href: string; expires_in: number }> }[] =
      JSON.parse(String(body)).objects;
    return answers.map((answer) => ({ oid: answer.oid, action: answer.actions[operation] }));
  }

  it('downloads each object by a URL of its own, for as long as from the bucket', async () => {
    const answers = await actionsOf('download');
    expect(answers.map((each) => each.oid)).toEqual(oids);
    for (const { oid: each, action } of answers) {
      expect(action?.href).toMatch(`https://d1.cloudfront.net/${tenant}/${repo}/${each}?Expires=`);
      const by = { publicKey: key.publicKey, keyId: 'K1', atMs: 0 };
      expect(passesCloudFront(String(action?.href), by)).toBe(true);
      expect(action?.expires_in).toBe(1800);
    }
  });

  it.each([
    ['no PEM', 'x'],
    ['of another pair', newCdnKey().privateKey],
  ])('is a 503 if the key is %s, and shows nothing of it', async (_, pem) => {
    const { statusCode, body } = await answerTo('download', new Map(), pem);
    expect(statusCode).toBe(503);
    expect(JSON.parse(String(body)).message).toBe(
      "A secret of this server can't be used. Its log explains what to do.",
    );
  });

  it('uploads to the bucket', async () => {
    for (const { action } of await actionsOf('upload'))
      expect(action?.href).toMatch('https://objects.s3.eu-central-1.amazonaws.com/');
  });

  it('downloads from the bucket what is too large for CloudFront', async () => {
    const [large = ''] = oids;
    const answers = await actionsOf('download', new Map([[large, cdnBytesMax + 1]]));
    const fromBucket = answers.filter(({ action }) => action?.href.startsWith('https://objects.s3.'));
    expect(fromBucket.map((each) => each.oid)).toEqual([large]);
  });
});
