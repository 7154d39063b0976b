import { beforeEach, describe, expect, it } from 'vitest';
import { defaultSettings } from '../../../../lambda/core/rules/settings.ts';
import { type StorageClass, storageClassesIn } from '../../../../lambda/core/store/rules/storage-class.ts';
import { createUrlSigner } from '../../../../lambda/core/store/signing.ts';
import { lfsMediaType } from '../../../../lambda/frame/api/http.ts';
import { create as createBatch } from '../../../../lambda/functions/lfs/lfs-batch.ts';
import { create as createManagement } from '../../../../lambda/functions/management.ts';
import type { WireObject } from '../../../../lambda/subjects/lfs/contract.ts';
import type { Deps } from '../../../../local/deps.ts';
import { storesOn } from '../../../../local/stores.ts';
import { batchRoute, httpEvent, noContext } from '../../../support/http-event.ts';
import { adminToken, memoryDeps } from '../../../support/memory/deps.ts';
import { memoryTable } from '../../../support/memory/table.ts';
import { tokenRecord } from '../../../support/token-record.ts';

const tenant = 'acme';
const token = `lfsq_${'a'.repeat(40)}`;
const oid = 'b'.repeat(64);
const ofTenant = '/v1/tenants/{tenant}';
const ofRepo = '/v1/tenants/{tenant}/repos/{repo}';

describe('a storage class', () => {
  let deps: Deps;
  let requests: string[];

  const open = (storageClasses: readonly StorageClass[], table = memoryTable()) => {
    requests = [];
    const send = table.client.send.bind(table.client);
    table.client.send = (name, input) => {
      requests.push(name);
      return send(name, input);
    };
    const credentials = async () => ({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' });
    deps = memoryDeps({
      ...storesOn(table),
      settings: { ...defaultSettings, chunkedAboveBytes: 1000 },
      signer: createUrlSigner({ bucket: 'objects', region: 'eu-central-1', credentials }),
      storageClasses,
    });
    return table;
  };

  const manage = async (method: string, path: string, body?: object, by = adminToken) => {
    const event = httpEvent({
      method,
      path: path.replace('{tenant}', tenant).replace('{repo}', 'game'),
      routeKey: `${method} ${path}`,
      headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
      pathParameters: { tenant, repo: 'game' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = await createManagement(deps)(event, noContext);
    return { status: answer.statusCode, body: JSON.parse(answer.body ?? '{}') as Record<string, unknown> };
  };
  const set = (path: string, storageClass: string | null) => manage('PATCH', path, { storageClass });

  const upload = async (size = 60, transfers = ['basic']) => {
    const event = httpEvent({
      routeKey: batchRoute,
      headers: { authorization: `Bearer ${token}`, 'content-type': lfsMediaType, accept: lfsMediaType },
      pathParameters: { tenant, repo: 'game.git' },
      body: JSON.stringify({ operation: 'upload', transfers, objects: [{ oid, size }] }),
    });
    const { statusCode, body } = await createBatch(deps)(event, noContext);
    expect(statusCode, body).toBe(200);
    return (JSON.parse(body ?? '') as { objects: WireObject[] }).objects[0];
  };
  /** The class that an upload must have, if its URL and its headers are of one mind. */
  const uploadClass = async () => {
    const { href = '', header = {} } = (await upload())?.actions?.['upload'] ?? {};
    const signed = new URL(href).searchParams.get('X-Amz-SignedHeaders')?.split(';') ?? [];
    expect(signed.includes('x-amz-storage-class')).toBe('x-amz-storage-class' in header);
    return header['x-amz-storage-class'];
  };
  const shown = async (path: string) => (await manage('GET', path)).body['storageClass'];

  const account = { plan: null, limitBytes: null, createdAtMs: 1, scanned: null, dueAtMs: 1 };
  beforeEach(async () => {
    open(['STANDARD', 'STANDARD_IA']);
    await deps.ledger.createTenant({ ...account, tenant });
    await deps.tokens.put(tokenRecord(token, { tenant }));
    await deps.ledger.createRepo({ tenant, repo: 'game', createdAtMs: 1 });
  });

  it("is signed into each upload: the repo's, or else its tenant's", async () => {
    expect(await uploadClass()).toBeUndefined();
    expect((await set(ofTenant, 'STANDARD_IA')).body).toMatchObject({ storageClass: 'STANDARD_IA' });
    expect(await uploadClass()).toBe('STANDARD_IA');
    expect((await set(ofRepo, 'STANDARD')).body).toMatchObject({ storageClass: 'STANDARD' });
    expect([await uploadClass(), await shown(ofTenant), await shown(ofRepo)]).toEqual([
      'STANDARD',
      'STANDARD_IA',
      'STANDARD',
    ]);
    expect((await set(ofRepo, null)).body).not.toHaveProperty('storageClass');
    expect(await uploadClass()).toBe('STANDARD_IA');
    expect((await set(ofTenant, null)).body).not.toHaveProperty('storageClass');
    expect(await uploadClass()).toBeUndefined();
  });

  it('costs a batch no request', async () => {
    await upload();
    const count = async () => {
      requests.length = 0;
      await upload();
      return [...requests].sort();
    };
    const without = await count();
    await set(ofTenant, 'STANDARD');
    await set(ofRepo, 'STANDARD_IA');
    expect(await count()).toEqual(without);
  });

  it('is refused unless the store has it, can be read at once, and the operator asks', async () => {
    const refused = await set(ofTenant, 'GLACIER_IR');
    expect(refused).toMatchObject({ status: 422, body: { type: expect.stringContaining('invalid-body') } });
    expect(refused.body['detail']).toBe('storageClass: must be one of: STANDARD, STANDARD_IA.');
    expect((await set(ofRepo, 'GLACIER_IR')).body['detail']).toBe(refused.body['detail']);
    expect(await set(ofRepo, 'DEEP_ARCHIVE')).toMatchObject({ status: 422 });
    const manager = `lfsq_${'m'.repeat(40)}`;
    await deps.tokens.put(tokenRecord(manager, { tenant, scope: 'manage' }));
    expect(await manage('PATCH', ofRepo, { storageClass: 'STANDARD' }, manager)).toMatchObject({
      status: 403,
    });
    expect([await shown(ofTenant), await shown(ofRepo)]).toEqual([undefined, undefined]);
    open([]);
    await deps.ledger.createTenant({ ...account, tenant });
    expect((await set(ofTenant, 'STANDARD')).body['detail']).toMatch(/has none.*serve --storage-classes/);
    expect((await set(ofTenant, null)).status).toBe(200);
  });

  it("isn't asked of a store that doesn't have it, as after a move", async () => {
    const table = open(['GLACIER_IR']);
    await deps.ledger.createTenant({ ...account, tenant });
    await deps.tokens.put(tokenRecord(token, { tenant }));
    await set(ofTenant, 'GLACIER_IR');
    expect(await uploadClass()).toBe('GLACIER_IR');
    open([], table);
    expect([await uploadClass(), await shown(ofTenant)]).toEqual([undefined, 'GLACIER_IR']);
  });

  it('ends with its repo', async () => {
    await set(ofRepo, 'STANDARD_IA');
    await deps.ledger.closeRepo({ tenant, repo: 'game', closedAtMs: 5 });
    expect(await deps.ledger.setStorageClass({ tenant, repo: 'game', storageClass: null })).toBe('closed');
    await deps.ledger.openRepo({ tenant, repo: 'game', closedAtMs: 5 });
    expect(await uploadClass()).toBeUndefined();
  });
});

it.each([
  ['', []],
  ['STANDARD_IA', ['STANDARD_IA']],
  ['GLACIER_IR,STANDARD', ['STANDARD', 'GLACIER_IR']],
  ['STANDARD,GLACIER', undefined],
  ['standard', undefined],
])('storage classes %j', (text, found) => {
  expect(storageClassesIn(text)).toEqual(found);
});
