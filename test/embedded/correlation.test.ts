import { createHash } from 'node:crypto';
import { expect, it, vi } from 'vitest';
import { startEmbeddedStack } from '../../local/start.ts';
import { recordingLog } from '../support/recording-log.ts';
import { useTempFolders } from '../support/temp-folder.ts';

const tempFolder = useTempFolders();
const mediaType = 'application/vnd.git-lfs+json';

interface Answer {
  readonly id: string;
  readonly body: {
    readonly objects?: readonly {
      actions?: Record<string, { href: string; header?: Record<string, string> }>;
    }[];
  };
}

async function post(url: string, headers: Record<string, string>, body: object): Promise<Answer> {
  const all = { accept: mediaType, 'content-type': mediaType, ...headers };
  const response = await fetch(url, { method: 'POST', headers: all, body: JSON.stringify(body) });
  expect(response.status).toBe(200);
  return {
    id: response.headers.get('apigw-requestid') ?? '',
    body: (await response.json()) as Answer['body'],
  };
}

it('the log shows each of several simultaneous pushes up to its reconcile, and no secret', async () => {
  const { log, entries } = recordingLog();
  const queueTiming = { quietMs: 20, quietMaxMs: 50, spacingMs: 10 };
  const stack = await startEmbeddedStack({ port: 0, dataDir: tempFolder(), queueTiming, log });
  try {
    const admin = { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' };
    const manage = async (path: string, body: object) => {
      const init = { method: 'POST', headers: admin, body: JSON.stringify(body) };
      return (await fetch(`${stack.url}${path}`, init)).json() as Promise<Record<string, string>>;
    };
    /** Pushes one object as a new tenant. @returns the ids of its two requests. */
    const push = async (tenant: string) => {
      await manage('/v1/tenants', { tenant, limitBytes: 1000 });
      const { token = '' } = await manage(`/v1/tenants/${tenant}/tokens`, { scope: 'write' });
      const basic = { authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}` };
      const object = { oid: createHash('sha256').update(tenant).digest('hex'), size: tenant.length };
      const batch = await post(`${stack.url}/${tenant}/game/info/lfs/objects/batch`, basic, {
        operation: 'upload',
        transfers: ['basic'],
        objects: [object],
      });
      const { upload, verify } = batch.body.objects?.[0]?.actions ?? {};
      if (!upload || !verify) throw new Error('The batch answered no actions.');
      await fetch(upload.href, { method: 'PUT', headers: upload.header ?? {}, body: tenant });
      const verified = await post(verify.href, verify.header ?? {}, object);
      return { tenant, batchId: batch.id, verifyId: verified.id, secrets: [token, basic.authorization] };
    };
    const pushes = await Promise.all(Array.from({ length: 12 }, (_, index) => push(`tenant-${index}`)));

    const linesOf = (message: string, tenant: string) =>
      entries.filter((entry) => entry.message === message && entry.fields['tenant'] === tenant);
    for (const { tenant, batchId, verifyId } of pushes) {
      expect(linesOf('uploads', tenant).map(({ fields }) => fields['requestId'])).toEqual([batchId]);
      await vi.waitFor(() => expect(linesOf('reconciled', tenant)).not.toEqual([]), { timeout: 120_000 });
      for (const { fields } of linesOf('reconciled', tenant)) {
        expect([batchId, verifyId]).toContain(fields['correlationId']);
        expect(fields['messageId']).toEqual(expect.stringMatching(/^[0-9a-f-]{36}$/));
        expect(fields).not.toHaveProperty('requestId');
      }
    }
    const text = JSON.stringify(entries);
    for (const { secrets } of pushes) for (const secret of secrets) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/lfs[qsv]_|X-Amz-Signature|https?:/);
    expect(text).not.toContain(stack.adminToken);
  } finally {
    await stack.close();
  }
});
