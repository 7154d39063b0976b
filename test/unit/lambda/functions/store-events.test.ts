import type { SQSEvent } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { allPages } from '../../../../lambda/core/rules/async.ts';
import { LedgerUnavailableError } from '../../../../lambda/core/rules/errors.ts';
import { AdoptedRepos } from '../../../../lambda/core/store/rules/adopted-repos.ts';
import { create } from '../../../../lambda/frame/work/store-events.ts';
import { MemoryStack, oidOf, tenant } from '../../../support/memory/stack.ts';
import { recordingLog } from '../../../support/recording-log.ts';

/** As S3 writes it, without fields that are never read. */
const s3Event = (eventName: string, key: string, size?: number) => ({
  eventVersion: '2.1',
  eventSource: 'aws:s3',
  eventTime: '2027-01-15T08:00:00.123Z',
  eventName,
  s3: { bucket: { name: 'objects' }, object: { key, ...(size !== undefined && { size }), sequencer: '0A' } },
});

const testEvent = {
  Service: 'Amazon S3',
  Event: 's3:TestEvent',
  Time: '2027-01-15T08:00:00.000Z',
  Bucket: 'x',
};

/** Messages m0, m1, … with these bodies. */
function batchOf(bodies: readonly unknown[]): SQSEvent {
  const records = bodies.map((body, index) => ({
    messageId: `m${index}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  }));
  return { Records: records } as unknown as SQSEvent;
}

async function deliver(world: MemoryStack, ...bodies: unknown[]) {
  const { log, entries } = recordingLog();
  const { batchItemFailures } = await create({ ...world.deps, log })(batchOf(bodies), {
    awsRequestId: 'run-1',
  });
  const failed = batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  return { failed, entries };
}

const notedRepos = async (world: MemoryStack, of = tenant) =>
  (await allPages(world.ledger.reservations(of))).map(({ repo }) => repo).sort();

describe('events of the store', () => {
  it('of one tenant in many messages take one lookup and one request for a reconcile', async () => {
    const world = new MemoryStack();
    await world.create();
    const records = Array.from({ length: 30 }, (_, index) => ({
      Records: [s3Event('ObjectCreated:Put', `acme/app/${oidOf(index)}`, 5)],
    }));
    expect(await deliver(world, ...records)).toMatchObject({ failed: [] });
    expect(await notedRepos(world)).toEqual(['app']);
    expect(world.requests).toEqual([{ tenant, reason: 'event', full: false }]);
  });

  it('of an adopted repo are about its keys, and what is hidden is left out', async () => {
    const world = new MemoryStack();
    await world.create();
    const repo = { tenant, repo: 'game', path: 'lfs/', names: 'ab/cd/rest' } as const;
    const { log } = recordingLog();
    const oid = oidOf(1);
    const keys = [
      `lfs/${oid.slice(0, 2)}/${oid.slice(2, 4)}/${oid.slice(4)}`,
      'lfs/tmp/upload',
      `${tenant}/game/${oid}`,
      `${tenant}/app/${oid}`,
    ];
    const noted: string[][] = [];
    for (const key of keys) {
      const events = batchOf([{ Records: [s3Event('ObjectCreated:Put', key, 5)] }]);
      const adoptedRepos = new AdoptedRepos([repo]);
      await create({ ...world.deps, log, adoptedRepos })(events, { awsRequestId: 'run-1' });
      noted.push(await notedRepos(world));
    }
    expect(noted).toEqual([['game'], ['game'], ['game'], ['app', 'game']]);
  });

  it('may have encoded keys', async () => {
    const world = new MemoryStack();
    await world.create();
    await world.push('app', { 'a b+c/ü.bin': 5 });
    world.requests.length = 0;
    const event = s3Event('ObjectCreated:CompleteMultipartUpload', 'acme/app/a+b%2Bc/%C3%BC.bin', 5);
    await deliver(world, { Records: [event] });
    // The upload was expected, so there is only its reservation and no note.
    expect(await notedRepos(world)).toHaveLength(1);
    expect(world.requests).toHaveLength(1);
  });

  it('outside of any repo are accepted and dropped', async () => {
    const world = new MemoryStack();
    await world.create();
    const strange = ['acme', 'acme/beside', 'nobody/app/x', '%2F', 'Not+A+Tenant/app/x'].map((key) => ({
      Records: [s3Event('ObjectRemoved:Delete', key)],
    }));
    expect(await deliver(world, testEvent, { Records: [] }, ...strange)).toEqual({ failed: [], entries: [] });
    expect(world.requests).toEqual([]);
    expect(await notedRepos(world)).toEqual([]);
  });

  it('that do not parse are redelivered, and only those', async () => {
    const world = new MemoryStack();
    await world.create();
    const good = { Records: [s3Event('ObjectRemoved:DeleteMarkerCreated', 'acme/app/x')] };
    const broken = [
      '{',
      {},
      { Records: [{ eventName: 'ObjectCreated:Put' }] },
      { Records: [{ ...good.Records[0], eventTime: 'today' }] },
      { Records: [s3Event('ObjectCreated:Put', 'acme/app/%E0%A4%A', 1)] },
    ];
    const { failed, entries } = await deliver(world, good, ...broken);
    expect(failed).toEqual(['m1', 'm2', 'm3', 'm4', 'm5']);
    expect(entries.filter(({ level }) => level === 'error')).toHaveLength(5);
    expect(await notedRepos(world)).toEqual(['app']);
  });

  it('of a tenant whose ledger does not answer are redelivered, those of others are not', async () => {
    const world = new MemoryStack();
    await world.create();
    const readTenant = world.ledger.readTenant.bind(world.ledger);
    world.ledger.readTenant = async (name) => {
      if (name === 'down') throw new LedgerUnavailableError('The table does not answer.');
      return readTenant(name);
    };
    const of = (...keys: string[]) => ({ Records: keys.map((key) => s3Event('ObjectRemoved:Delete', key)) });
    const { failed, entries } = await deliver(
      world,
      of('acme/app/x'),
      of('down/app/x'),
      of('acme/web/x', 'down/web/x'),
    );
    expect(failed).toEqual(['m1', 'm2']);
    expect(await notedRepos(world)).toEqual(['app', 'web']);
    const [error] = entries.filter(({ level }) => level === 'error');
    expect(error?.fields).toMatchObject({
      messages: 2,
      error: expect.objectContaining({
        name: 'LedgerUnavailableError',
        message: 'The table does not answer.',
      }),
    });
  });

  it('are redelivered if the request for a reconcile could not be sent', async () => {
    const world = new MemoryStack();
    await world.create();
    const queue = { ...world.deps.queue, request: () => Promise.reject(new Error('QueueDoesNotExist')) };
    const events = batchOf([{ Records: [s3Event('ObjectRemoved:Delete', 'acme/app/x')] }]);
    expect(await create({ ...world.deps, queue })(events, { awsRequestId: 'run-1' })).toEqual({
      batchItemFailures: [{ itemIdentifier: 'm0' }],
    });
  });
});
