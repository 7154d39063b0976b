import { describe, expect, it } from 'vitest';
import { createTenant } from '../../../../../lambda/frame/access/tenants.ts';
import { usageBeat } from '../../../../../lambda/subjects/history/byte-hours-beat.ts';
import { byteHoursOperations } from '../../../../../lambda/subjects/history/byte-hours-routes.ts';
import { hourMs } from '../../../../../lambda/subjects/history/rules/byte-hours.ts';
import { fileCharactersMax } from '../../../../../lambda/subjects/history/usage-files.ts';
import { httpEvent } from '../../../../support/http-event.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { adminToken } from '../../../../support/memory/deps.ts';
import { MemoryStack } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const day = 24 * hourMs;

async function world(names: readonly string[] = ['acme', 'zoo']) {
  const made = new MemoryStack();
  const archives = new MemoryArchiveStore({ objects: made.objects });
  made.nowMs = Date.UTC(2026, 10, 28);
  for (const tenant of names) await createTenant(made.deps, { tenant, plan: null, limitBytes: null });
  made.nowMs += 10 * hourMs;
  const log = recordingLog();
  const deps = { ...made.deps, log: log.log };
  const usageFiles = { ...made.deps, archives };
  const beat = async () => (await usageBeat.beat({ ...deps, usageFiles })).usageFiles;
  const keys = () => made.objects.keysBelow('_usage/');
  const text = async (key: string) => Buffer.from((await archives.get(key)) ?? []).toString();
  return { made, deps, archives, log, beat, keys, text };
}

type World = Awaited<ReturnType<typeof world>>;

/** What the API says of an hour, in lines. */
async function asked({ made }: World, fromMs: number): Promise<string> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const iso = (atMs: number) => new Date(atMs).toISOString().replace('.000', '');
  const { body = '' } = await byteHoursOperations['GET /v1/usage'](made.deps, {
    ...httpEvent({ method: 'GET', path: '/v1/usage', headers }),
    queryStringParameters: { format: 'jsonl', from: iso(fromMs), to: iso(fromMs + hourMs) },
  });
  return body;
}

describe('files of usage', () => {
  it('have each hour from the first that becomes final after they were set, as the API says', async () => {
    const at = await world();
    const { made, beat, keys, text } = at;
    expect([await beat(), keys()]).toEqual([0, []]);
    const step = { epoch: 1, objectCount: 1, highestBytes: 7, highestUsedBytes: 7, limitBytes: null };
    await made.deps.history.note({ tenant: 'zoo', ...step, atMs: made.nowMs - 90 * 60_000, storedBytes: 7 });
    made.nowMs += 2 * hourMs;
    expect([await beat(), await beat()]).toEqual([2, 0]);
    expect(keys()).toEqual(['_usage/2026/11/28/08.jsonl', '_usage/2026/11/28/09.jsonl']);
    const said = await asked(at, Date.UTC(2026, 10, 28, 8));
    expect(said.split('\n').map((line) => line && JSON.parse(line).id)).toEqual([
      'acme:2026-11-28T08Z',
      'zoo:2026-11-28T08Z',
      '',
    ]);
    expect(await text('_usage/2026/11/28/08.jsonl')).toBe(said);
  });

  it('are there for an hour without tenants, too', async () => {
    const { made, beat, keys, text } = await world([]);
    await beat();
    made.nowMs += hourMs;
    expect([await beat(), keys(), await text('_usage/2026/11/28/08.jsonl')]).toEqual([
      1,
      ['_usage/2026/11/28/08.jsonl'],
      '',
    ]);
  });

  it('are several where one would be too large, and the first comes last', async () => {
    const at = await world(['acme']);
    const { made, archives, beat, keys, text } = at;
    await beat();
    const fix = { tenant: 'acme', hourMs: Date.UTC(2026, 10, 28), byteSeconds: '1', atMs: made.nowMs };
    const reason = 'r'.repeat(10_000);
    for (let number = 1; number <= 1800; number += 1)
      await made.deps.corrections.add({ ...fix, number, reason });
    made.nowMs += 3 * hourMs;
    const put: string[] = [];
    const files = {
      put: (key: string, bytes: Uint8Array) => {
        put.push(key.replace('_usage/2026/11/28/', ''));
        return archives.put(key, bytes);
      },
    };
    const usageFiles = { ...made.deps, archives: files };
    expect((await usageBeat.beat({ ...at.deps, usageFiles })).usageFiles).toBe(3);
    expect(put).toEqual(['08.jsonl', '09.jsonl', '10-2.jsonl', '10.jsonl']);
    const parts = await Promise.all(['10', '10-2'].map((name) => text(`_usage/2026/11/28/${name}.jsonl`)));
    for (const part of parts) expect(part.length).toBeLessThan(fileCharactersMax + 1000 * 11_000);
    const ids = parts.join('').trimEnd().split('\n');
    expect(ids).toHaveLength(1801);
    const fixes = Array.from({ length: 1800 }, (_, index) => `acme:2026-11-28T00Z:c${index + 1}`);
    expect(ids.map((line) => JSON.parse(line).id)).toEqual(['acme:2026-11-28T10Z', ...fixes]);
    expect(keys()).toHaveLength(4);
  });

  it.each(['before', 'after'] as const)(
    'are written again, the same, if the store or the function fails %s a PUT',
    async (when) => {
      const { made, archives, beat, keys, log, text } = await world();
      await beat();
      made.nowMs += 2 * hourMs;
      let fails = true;
      archives[when] = ({ name, number }) => {
        if (fails && name === 'put' && number === 2) throw new Error('The store is down.');
      };
      expect(await beat()).toBe(1);
      expect(log.entries).toMatchObject([{ message: 'hours not sent' }]);
      const first = await text('_usage/2026/11/28/08.jsonl');
      fails = false;
      expect([await beat(), await beat()]).toEqual([1, 0]);
      expect(keys()).toHaveLength(2);
      expect(await text('_usage/2026/11/28/08.jsonl')).toBe(first);
    },
  );

  it('and the webhook have each hour once, whatever the other one fails at', async () => {
    const { made, deps, archives, keys } = await world();
    const sent: unknown[] = [];
    let isDown = false;
    const send = async (messages: readonly object[]) => {
      if (isDown) throw new Error('The queue is down.');
      sent.push(...messages);
    };
    const usageFiles = { ...made.deps, archives };
    const usageHookIsSet = async () => true;
    const both = () => usageBeat.beat({ ...deps, usageFiles, webhookQueue: { send }, usageHookIsSet });
    expect(await both()).toEqual({ usage: 0, usageFiles: 0 });
    made.nowMs += hourMs;
    archives.before = () => {
      throw new Error('The store is down.');
    };
    expect([await both(), await both()]).toEqual([
      { usage: 1, usageFiles: 0 },
      { usage: 0, usageFiles: 0 },
    ]);
    [archives.before, isDown] = [() => undefined, true];
    expect(await both()).toEqual({ usage: 0, usageFiles: 1 });
    made.nowMs += hourMs;
    expect(await both()).toEqual({ usage: 0, usageFiles: 1 });
    isDown = false;
    expect(await both()).toEqual({ usage: 1, usageFiles: 0 });
    expect([sent.length, keys().length]).toEqual([2, 2]);
  });

  it('are removed once they are 400 days old, those of a gap too, and nothing else is', async () => {
    const { made, beat, keys } = await world();
    await beat();
    const old = made.nowMs - 400 * day;
    const name = (atMs: number) =>
      `_usage/${new Date(atMs).toISOString().slice(0, 13).replaceAll(/[-T]/g, '/')}`;
    const stays = ['_usag/1', '_usage2/1', 'acme/2020/01/01/00.jsonl'];
    for (const key of stays) made.objects.put(key, 1);
    for (let hour = -1500; hour <= 0; hour += 1) made.objects.put(`${name(old + hour * hourMs)}.jsonl`, 1);
    made.objects.put(`${name(old)}-2.jsonl`, 1);
    made.nowMs += hourMs;
    made.beforeDelete = () => {
      throw new Error('The store is down.');
    };
    expect(await beat()).toBe(1);
    made.beforeDelete = () => undefined;
    expect([await beat(), keys().length]).toEqual([0, 1000]);
    made.nowMs += hourMs;
    expect(await beat()).toBe(1);
    expect(keys()).toEqual(['_usage/2026/11/28/08.jsonl', '_usage/2026/11/28/09.jsonl']);
    expect(stays.flatMap((key) => made.objects.keysBelow(key))).toEqual(stays);
  });

  it('are right again for a day, and go on, once a clock is that was years ahead', async () => {
    const { made, beat, keys, log } = await world();
    await beat();
    made.nowMs += 3 * hourMs;
    await beat();
    const nowMs = made.nowMs;
    made.nowMs += 500 * day;
    expect(await beat()).toBe(24);
    made.nowMs = nowMs + hourMs;
    expect([await beat(), await beat()]).toEqual([24, 0]);
    expect(log.entries).toMatchObject([
      { message: 'hours sent ahead of time: those of a day are sent again' },
    ]);
    made.nowMs += hourMs;
    expect(await beat()).toBe(1);
    const ofThatTime = keys().filter((key) => key < '_usage/2027');
    expect([ofThatTime.length, ofThatTime.at(-1)]).toEqual([25, '_usage/2026/11/28/12.jsonl']);
  });

  it('are none where they are not set', async () => {
    const { made, deps, keys } = await world();
    const none = { usage: 0, usageFiles: 0 };
    expect(await usageBeat.beat(deps)).toEqual(none);
    made.nowMs += day;
    expect([await usageBeat.beat(deps), keys()]).toEqual([none, []]);
  });
});
