import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { create } from '../../../../../lambda/functions/management.ts';
import { exportPageSchema, exportSchema } from '../../../../../lambda/subjects/exports/contract.ts';
import { exportSettingsFor } from '../../../../../lambda/subjects/exports/rules/settings.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken } from '../../../../support/memory/deps.ts';
import { exportIdOf, exportWorld, jobOf, putJob } from './export-world.ts';

const route = '/v1/tenants/{tenant}/exports';
const oid = 'a'.repeat(64);

/** Sends a request of the operator. @returns status and body. */
async function ask(
  deps: Deps,
  routeKey: string,
  sent: { path?: Record<string, string>; body?: unknown; query?: Record<string, string> } = {},
) {
  const [method = ''] = routeKey.split(' ');
  const event = {
    ...httpEvent({
      method,
      routeKey,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      pathParameters: { tenant: 'acme', ...sent.path },
      body: JSON.stringify(sent.body ?? {}),
    }),
    ...(sent.query && { queryStringParameters: sent.query }),
  };
  const { statusCode, body } = z
    .object({ statusCode: z.int(), body: z.string() })
    .parse(await create(deps)(event, noContext));
  return { status: statusCode, body: JSON.parse(body) };
}

const start = (deps: Deps, body: unknown) => ask(deps, `POST ${route}`, { body });
const show = (deps: Deps, exportId: string) => ask(deps, `GET ${route}/{exportId}`, { path: { exportId } });

describe('to begin an export', () => {
  it('answers it at once', async () => {
    const { deps } = await exportWorld();
    const { status, body } = await start(deps, { repo: 'game.git', format: 'zip' });
    expect(status).toBe(202);
    expect(exportSchema.parse(body)).toMatchObject({
      tenant: 'acme',
      repo: 'game',
      format: 'zip',
      dryRun: false,
      state: 'planning',
      progress: { share: null, unitsDone: 0, units: 0 },
      plan: null,
      failure: null,
      endedAt: null,
      archives: [],
      countsAgainstQuota: false,
    });
    expect(await show(deps, body.exportId)).toEqual({ status: 200, body });
  });

  it('needs nothing but the tenant', async () => {
    const { deps } = await exportWorld();
    const { body } = await start(deps, {});
    expect(body).toMatchObject({ repo: null, format: 'tar', listedObjects: null });
    const some = await start(deps, { objects: [{ oid }], dryRun: true });
    expect(some.body).toMatchObject({ listedObjects: 1, named: false, dryRun: true });
  });

  it('says who asked, without the id of a token, and whether files get names', async () => {
    const { deps } = await exportWorld();
    const { body } = await start(deps, { objects: [{ oid, name: 'a.psd' }] });
    const said = { named: true, by: { kind: 'operator', name: null } };
    expect(body).toMatchObject(said);
    expect((await ask(deps, `GET ${route}`)).body.exports).toMatchObject([said]);
  });

  it('of an older client, which prefers time or cost, answers all that it requires', async () => {
    const { deps } = await exportWorld();
    for (const prefer of ['time', 'cost']) {
      const { status, body } = await start(deps, { repo: 'game', prefer });
      const required = { prefer: 'time', explained: null };
      expect({ status, body }).toMatchObject({ status: 202, body: required });
      expect((await ask(deps, `GET ${route}`)).body.exports[0]).toMatchObject(required);
    }
  });

  it.each([
    { body: { objects: [{ oid }, { oid }] }, detail: /^objects.1.oid: is in the list twice/ },
    { body: { objects: [{ oid, name: '/etc' }] }, detail: /^objects.0.name: must be a relative path/ },
    {
      body: { objects: [{ oid, name: 'a/.Git./config' }] },
      detail: /^objects.0.name: .*\.git in any spelling/,
    },
    { body: { objects: [{ oid, size: 5 }] }, detail: /size/ },
  ])('refuses $body', async ({ body, detail }) => {
    const { deps, messages } = await exportWorld();
    const answer = await start(deps, body);
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid-body']);
    expect(answer.body.detail).toMatch(detail);
    expect(messages).toEqual([]);
  });

  it('tells that there is no such repo, or no place in a tenant that is being deleted', async () => {
    const { deps } = await exportWorld();
    expect((await start(deps, { repo: 'other' })).body.code).toBe('repo-not-found');
    await deps.ledger.closeTenant({ tenant: 'acme', closedAtMs: 5 });
    expect(await start(deps, {})).toMatchObject({ status: 409, body: { code: 'tenant-closed' } });
  });
});

describe('an export that is done', () => {
  const figures = {
    archiveBytes: 20_000,
    throughBytes: 5000,
    copiedBytes: 15_000,
    volumes: 1,
    shards: 0,
    gets: 3,
    uploads: 2,
    copies: 1,
    hashedBytes: 0,
  };
  const planned = {
    ...({
      way: 'copy-free',
      objectCount: 3,
      objectBytes: 18_000,
      missing: 1,
      conflicts: 0,
      figures,
    } as const),
    requests: 8,
    dollars: 0.01,
    seconds: 2,
    units: 2,
    volumes: [
      { key: `_exports/acme/${exportIdOf(0)}/1/acme.tar`, uploadId: 'u', sizeBytes: 20_000, parts: 3 },
    ],
  };
  const progress = { uploadedBytes: 4000, copiedBytes: 6000, hashedBytes: 0, requests: 5 };

  it('has URLs when it is asked for alone, of which it says how long they are valid', async () => {
    const signed: unknown[] = [];
    const { deps, clock } = await exportWorld({
      signer: {
        signUpload: () => Promise.reject(new Error('Nothing is uploaded.')),
        signDownload: async (input) => {
          signed.push(input);
          return { href: 'https://store.example/acme.tar', header: {} };
        },
      },
    });
    const { exportId } = await putJob(deps, { state: 'done', planned, progress });
    const { body } = await show(deps, exportId);
    const archive = { name: 'acme.tar', sizeBytes: 20_000 };
    const url = { url: 'https://store.example/acme.tar', urlExpiresAt: '2027-01-15T08:30:00Z' };
    expect(exportSchema.parse(body).archives).toEqual([{ ...archive, ...url }]);
    const { urlLifetimeMs: lifetimeMs } = deps.settings;
    expect(signed).toEqual([{ key: planned.volumes[0]?.key, signedAtMs: clock.nowMs(), lifetimeMs }]);
    const list = exportPageSchema.parse((await ask(deps, `GET ${route}`)).body);
    expect(list.exports[0]?.archives).toEqual([{ ...archive, url: null, urlExpiresAt: null }]);
    expect(list.nextCursor).toBeNull();
    expect(signed).toHaveLength(1);
  });

  it('shows its plan, and how far it is', async () => {
    const { deps } = await exportWorld();
    const { exportId } = await putJob(deps, { state: 'copying', planned, progress, doneUnits: '1' });
    const { body } = await show(deps, exportId);
    expect(exportSchema.parse(body)).toMatchObject({
      progress: { ...progress, share: 0.5, unitsDone: 1, units: 2 },
      plan: {
        way: 'copy-free',
        objectCount: 3,
        objectBytes: 18_000,
        missing: 1,
        conflicts: 0,
        archiveBytes: 20_000,
        uploadedBytes: 5000,
        copiedBytes: 15_000,
        archives: 1,
        shards: 0,
        requests: 8,
        dollars: 0.01,
        seconds: 2,
      },
      archives: [],
    });
    expect(body.plan).not.toHaveProperty('volumes');
  });

  it('has what is hashed beside its parts in its share, and is never more than done', async () => {
    const { deps } = await exportWorld();
    const zip = { ...planned, figures: { ...figures, hashedBytes: 20_000 } };
    const hashed = { ...progress, hashedBytes: 2000 };
    const { exportId } = await putJob(deps, { planned: zip, state: 'copying', progress: hashed });
    expect((await show(deps, exportId)).body.progress.share).toBe(0.3);
    await deps.exportJobs.change({ tenant: 'acme', exportId }, (job) => ({
      ...job,
      progress: { ...progress, hashedBytes: 9e9 },
    }));
    expect((await show(deps, exportId)).body.progress.share).toBe(1);
  });

  it('loses its archive when it is deleted', async () => {
    const { deps, messages } = await exportWorld();
    const { exportId } = await putJob(deps, { state: 'done', planned, progress, isTidy: true });
    const remove = () => ask(deps, `DELETE ${route}/{exportId}`, { path: { exportId } });
    const first = await remove();
    expect(first).toMatchObject({ status: 200, body: { state: 'expired', archives: [] } });
    expect(await remove()).toEqual(first);
    expect(messages.map(({ step }) => step.kind)).toEqual(['advance', 'advance']);
  });
});

describe('exports', () => {
  it.each([`GET ${route}`, `POST ${route}`, `GET ${route}/{exportId}`, `DELETE ${route}/{exportId}`])(
    '%s says that the stage makes none, once it knows who asks',
    async (routeKey) => {
      const { deps } = await exportWorld({ exportSettings: exportSettingsFor('s3', { workers: 0 }) });
      const path = { exportId: exportIdOf(0) };
      const off = await ask(deps, routeKey, { path });
      expect(off).toMatchObject({ status: 409, body: { code: 'exports-off' } });
      const stranger = { ...deps, admin: { sha256s: async () => ['another'] } };
      expect(await ask(stranger, routeKey, { path })).toMatchObject({ status: 401 });
    },
  );

  it('end with what they contain', async () => {
    const { deps } = await exportWorld();
    const { request } = jobOf(deps);
    const [repo, tenant] = [exportIdOf(1), exportIdOf(2)];
    await putJob(deps, { exportId: repo, request: { ...request, repo: 'game' } });
    await putJob(deps, { exportId: tenant, state: 'done' });
    const states = async () =>
      Promise.all([repo, tenant].map(async (exportId) => (await show(deps, exportId)).body.state));
    const [ofRepo, ofTenant] = ['DELETE /v1/tenants/{tenant}/repos/{repo}', 'DELETE /v1/tenants/{tenant}'];
    const path = { repo: 'game' };
    for (const routeKey of [ofRepo, ofTenant]) await ask(deps, routeKey, { path, query: { dryRun: 'true' } });
    expect(await states()).toEqual(['planning', 'done']);
    await ask(deps, ofRepo, { path });
    expect(await states()).toEqual(['cancelled', 'done']);
    await ask(deps, ofTenant);
    expect(await states()).toEqual(['cancelled', 'expired']);
  });
});
