import { describe, expect, it } from 'vitest';
import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import { StoreUnavailableError } from '../../../../lambda/core/store/rules/store.ts';
import { create } from '../../../../lambda/frame/management/get-subscription.ts';
import { httpEvent, noContext } from '../../../support/http-event.ts';
import { ManualClock, memoryDeps } from '../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../support/memory/ledger.ts';
import { MemoryObjectStore } from '../../../support/memory/object-store.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { tokenRecord } from '../../../support/token-record.ts';

const tenant = 'acme';
const token = `lfsq_${'a'.repeat(40)}`;

/** Each step takes time of its own: a token 11 ms, a read of the tenant 20, of its reservations 40, a LIST 500, its commit 3. */
async function world(objectCount: number) {
  const clock = new ManualClock();
  const objects = new MemoryObjectStore();
  for (let index = 0; index < objectCount; index += 1)
    objects.put(`${tenant}/app/${sha256Hex(`${index}`)}`, 1);
  const { log, entries } = recordingLog();
  let lists = 0;
  let isDown = false;
  const listed = async <T>(work: () => Promise<T>) => {
    clock.advance(500);
    if (isDown) throw new StoreUnavailableError('The store is down.');
    lists += 1;
    return work();
  };
  const ledger = new MemoryLedger();
  const deps = memoryDeps({
    clock,
    log,
    ledger,
    objects,
    listing: {
      listPage: (request) => listed(() => objects.listPage(request)),
      listFolders: (request) => listed(() => objects.listFolders(request)),
    },
  });
  await deps.ledger.createTenant({
    tenant,
    plan: 'team',
    limitBytes: 5e12,
    createdAtMs: clock.nowMs(),
    dueAtMs: clock.nowMs(),
    scanned: null,
  });
  await deps.tokens.put(tokenRecord(token, { tenant, createdAtMs: clock.nowMs(), scope: 'manage' }));
  const slow = <A extends unknown[], R>(ms: number, call: (...args: A) => R) => {
    return (...args: A) => {
      clock.advance(ms);
      return call(...args);
    };
  };
  const { find } = deps.tokens;
  const tokens = Object.assign(Object.create(deps.tokens), { find: slow(11, find.bind(deps.tokens)) });
  ledger.readTenant = slow(20, ledger.readTenant.bind(ledger));
  ledger.beginReconcile = slow(40, ledger.beginReconcile.bind(ledger));
  ledger.commitTenant = slow(3, ledger.commitTenant.bind(ledger));
  const handler = create({ ...deps, tokens });
  const ask = async (query: Record<string, string> = {}) => {
    const event = httpEvent({
      method: 'GET',
      headers: { authorization: `Bearer ${token}` },
      pathParameters: { tenant },
    });
    const beganMs = clock.nowMs();
    lists = 0;
    await handler({ ...event, queryStringParameters: query }, noContext);
    const line = entries.findLast(({ message }) => message === 'subscription');
    return { line: line?.fields, lists, totalMs: clock.nowMs() - beganMs };
  };
  return { ask, stop: () => (isDown = true) };
}

describe('the line of a read of usage', () => {
  it('has its steps apart, how many LISTs it took, and no secret', async () => {
    const { ask } = await world(3936);
    const missed = await ask();
    expect(missed.lists).toBeGreaterThan(16);
    expect(missed.line).toEqual({
      tenant,
      source: 'scan',
      refreshing: false,
      objectCount: 3936,
      lists: missed.lists,
      accessMs: 11,
      cacheMs: 20,
      planMs: 40,
      listMs: 500 * missed.lists,
      commitMs: 23,
      totalMs: missed.totalMs,
    });
    const hit = await ask();
    expect(hit.line).toEqual({
      tenant,
      source: 'cache',
      refreshing: false,
      objectCount: 3936,
      lists: 0,
      accessMs: 11,
      cacheMs: 20,
      planMs: 0,
      listMs: 0,
      commitMs: 0,
      totalMs: 31,
    });
    expect(JSON.stringify([missed.line, hit.line])).not.toContain(token);
  });

  it('counts the LISTs that were answered, and has the time of others, too', async () => {
    const { ask, stop } = await world(10);
    await ask();
    stop();
    const { line, totalMs } = await ask({ refresh: 'true' });
    expect(line).toMatchObject({ source: 'cache', refreshing: true, lists: 0, listMs: 500, totalMs });
  });
});
