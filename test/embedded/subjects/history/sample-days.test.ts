import { afterEach, expect, it } from 'vitest';
import type { HistoryBody } from '../../../../lambda/subjects/history/contract.ts';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const started: EmbeddedStack[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((stack) => stack.close()));
});

async function start(dataDir: string, more: { createDemo?: boolean } = {}) {
  const stack = await startEmbeddedStack({ port: 0, dataDir, ...more });
  started.push(stack);
  return stack;
}

it('gives the demo a year before its first day, as sample data, and no other tenant anything', async () => {
  const dataDir = tempFolder();
  const historyOf = async (stack: EmbeddedStack, tenant: string) => {
    const headers = { authorization: `Bearer ${stack.adminToken}` };
    const response = await fetch(`${stack.url}/v1/tenants/${tenant}/history?from=2020-01-01`, { headers });
    return (await response.json()) as HistoryBody;
  };
  const create = (stack: EmbeddedStack, tenant: string) =>
    fetch(`${stack.url}/v1/tenants`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ tenant }),
    });
  const first = await start(dataDir);
  const { days, forecast, limitBytes } = await historyOf(first, 'demo');
  const sample = days.filter((day) => day.sample);
  expect(sample).toHaveLength(365);
  expect(days.slice(0, 365)).toEqual(sample);
  for (const day of sample) {
    expect(day.storedBytes).toBeGreaterThan(0);
    expect(day.storedBytes).toBeLessThan(day.limitBytes ?? 0);
  }
  expect(days.slice(365).every(({ storedBytes }) => storedBytes === 0)).toBe(true);
  expect(limitBytes).toBe(1024 ** 3);
  expect(forecast).toMatchObject({ fullOn: null, reason: 'too-few-days' });
  expect((await create(first, 'acme')).status).toBe(201);
  expect((await historyOf(first, 'acme')).days.filter((day) => day.sample)).toEqual([]);

  // Somebody else's tenant of this name, in a folder without the demo.
  const other = tempFolder();
  const plain = await start(other, { createDemo: false });
  expect((await create(plain, 'demo')).status).toBe(201);
  await plain.close();
  expect((await historyOf(await start(other), 'demo')).days.filter((day) => day.sample)).toEqual([]);
});
