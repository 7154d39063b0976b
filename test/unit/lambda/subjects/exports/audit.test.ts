import { beforeEach, describe, expect, it, vi } from 'vitest';
import { create } from '../../../../../lambda/functions/management.ts';
import type { Deps } from '../../../../../local/deps.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken } from '../../../../support/memory/deps.ts';
import { MemoryAuditLog } from '../../../../support/memory/stores.ts';
import { tokenRecord } from '../../../../support/token-record.ts';
import { exportWorld } from './export-world.ts';

const write = `lfsq_${'w'.repeat(40)}`;
const start = 'POST /v1/tenants/{tenant}/exports';
const remove = 'DELETE /v1/tenants/{tenant}/exports/{exportId}';

describe('the audit', () => {
  let audit: MemoryAuditLog;
  let deps: Deps;
  let requests = 0;

  beforeEach(async () => {
    audit = new MemoryAuditLog();
    ({ deps } = await exportWorld({ audit }));
    await deps.tokens.put(tokenRecord(write, { tenant: 'acme', scope: 'write' }));
  });

  async function ask(
    routeKey: string,
    sent: {
      path?: Record<string, string>;
      body?: unknown;
      query?: Record<string, string>;
      token?: string;
    } = {},
  ) {
    const event = httpEvent({
      method: routeKey.split(' ')[0] ?? '',
      routeKey,
      headers: {
        authorization: `Bearer ${sent.token ?? adminToken}`,
        'content-type': 'application/json',
      },
      pathParameters: { tenant: 'acme', ...sent.path },
      body: JSON.stringify(sent.body ?? {}),
    });
    requests += 1;
    event.requestContext.requestId = `r${requests}`;
    event.requestContext.timeEpoch = deps.clock.nowMs();
    if (sent.query) event.queryStringParameters = sent.query;
    const { statusCode = 0, body } = await create(deps)(event, noContext);
    return { status: statusCode, body: JSON.parse(body ?? '') };
  }

  it('has who started an export, and who deleted it', async () => {
    const { body: job } = await ask(start, { body: { repo: 'game' }, token: write });
    const all = { tenant: 'acme', outcome: 'succeeded', reason: null };
    const after = { repo: 'game', format: 'tar', dryRun: false };
    expect(audit.entries).toMatchObject([{ ...all, action: 'export.start', after }]);
    await ask(remove, { path: job });
    expect(audit.entries).toHaveLength(2);
    expect(audit.entries.at(-1)).toMatchObject({
      action: 'export.delete',
      target: { exportId: job.exportId },
      before: { state: job.state },
      after: { state: 'cancelled' },
    });
    expect(JSON.stringify(audit.entries)).not.toMatch(/lfsq_[0-9A-Za-z]/);
  });

  it('has nothing of exports that readers ask for and do not get, or delete twice', async () => {
    const statuses = async (asks: Promise<{ status: number }>[]) =>
      (await Promise.all(asks)).map(({ status }) => status);
    const none = { path: { exportId: '0'.repeat(24) }, token: write };
    expect(
      await statuses([ask(start, { body: { repo: 'other' }, token: write }), ask(remove, none)]),
    ).toEqual([404, 404]);
    expect(audit.entries).toEqual([]);
    const jobs = [];
    for (let index = 0; index < 3; index += 1)
      jobs.push((await ask(start, { body: { repo: 'game' }, token: write })).body);
    expect((await ask(start, { body: { repo: 'game' }, token: write })).status).toBe(409);
    expect(audit.entries.map(({ outcome }) => outcome)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    for (let index = 0; index < 3; index += 1)
      expect((await ask(remove, { path: jobs[0], token: write })).body.state).toBe('cancelled');
    expect(audit.entries.map(({ action }) => action)).toEqual([
      ...Array(3).fill('export.start'),
      'export.delete',
    ]);
  });

  it('shows an export with how it is now, or ended, and without what nobody knows any more', async () => {
    const { exportId } = (await ask(start, { body: { repo: 'game' } })).body;
    const shown = async () =>
      (await ask('GET /v1/tenants/{tenant}/audit', { query: { action: 'export.start' } })).body.entries[0]
        .after;
    expect(await shown()).toMatchObject({ exportId, state: 'planning', repo: 'game' });
    await deps.exportJobs.change({ tenant: 'acme', exportId }, (job) => ({
      ...job,
      state: 'done',
      endedAtMs: deps.clock.nowMs(),
    }));
    expect(await shown()).toMatchObject({ exportId, state: 'done' });
    // Of exports, those on the page alone are read.
    const [some, all] = [vi.spyOn(deps.exportJobs, 'readSome'), vi.spyOn(deps.exportJobs, 'list')];
    await shown();
    expect(some.mock.calls).toEqual([[{ tenant: 'acme', exportIds: [exportId] }]]);
    expect(all).not.toHaveBeenCalled();
    deps.exportJobs.readSome = async () => [];
    expect(await shown()).toMatchObject({ exportId, repo: 'game' });
    expect(await shown()).not.toHaveProperty('state');
  });
});
