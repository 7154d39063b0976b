import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createDynamoDbLedger } from '../../lambda/ledger/ledger.ts';
import { allPages } from '../../lambda/rules/async.ts';
import { openDatabase } from '../../local/data/database.ts';
import { Random } from '../support/random.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { demoTokenIn, useChildStacks } from './child-stack.ts';

const tempFolder = useTempFolders();
const spawnStack = useChildStacks();
const kills = 8;
const clients = 20;
const size = 1000;

/** Asks to upload a new object. @returns whether it was let in. */
async function ask({ url, token }: { url: string; token: string }, oid: string): Promise<boolean> {
  const type = 'application/vnd.git-lfs+json';
  const response = await fetch(`${url}/demo/art.git/info/lfs/objects/batch`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`any:${token}`).toString('base64')}`,
      accept: type,
      'content-type': type,
    },
    body: JSON.stringify({ operation: 'upload', transfers: ['basic'], objects: [{ oid, size }] }),
  });
  return (await response.text()).includes('"upload"');
}

it(`npm start, killed ${kills} times under load, has all that it answered, and nothing that nobody asked for`, {
  timeout: 240_000,
}, async () => {
  const data = join(tempFolder(), 'data');
  const random = new Random(1);
  const [asked, answered] = [new Set<string>(), new Set<string>()];
  for (let kill = 1; kill <= kills; kill += 1) {
    const stack = spawnStack(['--port', '0', '--data', data]);
    const place = { url: await stack.ready(), token: demoTokenIn(data) };
    let isRunning = true;
    const client = async () => {
      while (isRunning) {
        const oid = createHash('sha256').update(`${asked.size}`).digest('hex');
        asked.add(oid);
        if (await ask(place, oid).catch(() => false)) answered.add(oid);
      }
    };
    const load = Array.from({ length: clients }, client);
    await sleep(random.int(300, 1500));
    stack.process.kill('SIGKILL');
    await stack.ended();
    isRunning = false;
    await Promise.all(load);

    const database = await openDatabase(join(data, 'table'));
    const ledger = createDynamoDbLedger(database);
    const claimed = new Set<string>();
    for (const { entries } of await allPages(ledger.reservations('demo')))
      for (const oid of entries.keys()) claimed.add(oid);
    const committed = ((await ledger.readTenant('demo'))?.committedBytes ?? 0) / size;
    await database.close();
    expect([...answered].filter((oid) => !claimed.has(oid))).toEqual([]);
    expect([...claimed].filter((oid) => !asked.has(oid))).toEqual([]);
    expect(committed).toBeGreaterThanOrEqual(answered.size);
    expect(committed).toBeLessThanOrEqual(asked.size);
  }
  expect(answered.size).toBeGreaterThan(kills * clients);
  expect(answered.size).toBeLessThan(asked.size);
});
