import { describe, expect, it } from 'vitest';
import { monthlyCost } from '../../../cost/monthly-cost.ts';
import { downloadBatch, type Operation, uploadBatch, verifyLocks } from '../../../cost/operations.ts';
import { byPerson } from '../../../cost/people.ts';
import { defaultWorkload } from '../../../cost/workload.ts';
import { sha256Hex } from '../../../lambda/domain/hash.ts';
import { KnownPeople } from '../../../lambda/domain/known-people.ts';
import { create as createBatch } from '../../../lambda/handlers/lfs-batch.ts';
import { create as createLocks } from '../../../lambda/handlers/lfs-locks.ts';
import type { Deps } from '../../../lambda/use-cases/deps.ts';
import { httpEvent, noContext } from '../../support/http-event.ts';
import { Counter, tenant } from './counting.ts';

const person = 'forge-token-of-ada-0123456789';

function modelled({ calls, tableRounds, headRounds, listRounds }: Operation) {
  const called = Object.fromEntries(Object.entries(calls).filter(([, count]) => count > 0));
  return { calls: called, tableRounds, headRounds, listRounds };
}

async function setUp() {
  const made = await Counter.create();
  for (let index = 0; index < 20; index += 1) made.store.put(`${tenant}/app/${sha256Hex(`${index}`)}`, 10);
  const mapped = { repo: 'app', host: 'forge', name: 'acme/app', hostedId: '7', sinceMs: 1 };
  await made.ask(() => made.deps.mappedRepos.put({ tenant, mark: mapped }));
  const deps: Deps = {
    ...made.deps,
    gitHosts: [{ id: 'forge', kind: 'gitea', url: 'https://forge.example.com' }],
    hostClient: {
      ask: async () => ({
        kind: 'granted',
        grant: { person: { id: 'forge:1', login: 'ada' }, access: 'write' },
        hostedId: '7',
      }),
    },
  };
  const ask = async (handler: 'batch' | 'locks', body: object, knownPeople: KnownPeople) => {
    const event = httpEvent({
      routeKey: handler === 'locks' ? 'POST /{tenant}/{repo}/info/lfs/locks/verify' : '',
      headers: { authorization: `Bearer ${person}`, 'content-type': 'application/vnd.git-lfs+json' },
      pathParameters: { tenant, repo: 'app.git' },
      body: JSON.stringify(body),
    });
    const create = handler === 'locks' ? createLocks : createBatch;
    const { result, asked } = await made.ask(async () => create({ ...deps, knownPeople })(event, noContext));
    expect(result).toMatchObject({ statusCode: 200 });
    return asked;
  };
  const batch = (operation: string, prefix: string) => {
    const objects = Array.from({ length: 20 }, (_, index) => ({
      oid: sha256Hex(`${prefix}${index}`),
      size: 10,
    }));
    return ask('batch', { operation, objects }, new KnownPeople());
  };
  const locks = (known = new KnownPeople()) => ask('locks', { ref: { name: 'refs/heads/main' } }, known);
  return { batch, locks };
}

describe('the calls of a person are those of the model', () => {
  it('when the host is asked, and when another function has asked', async () => {
    const { batch, locks } = await setUp();
    const others = await setUp();
    expect(await locks()).toEqual(modelled(byPerson(verifyLocks(), { isAsked: true })));
    expect(await locks()).toEqual(modelled(byPerson(verifyLocks())));
    expect(await batch('upload', 'new')).toEqual(modelled(byPerson(uploadBatch(20))));
    // Of others: a LIST takes minutes on its clock.
    await others.locks();
    expect(await others.batch('download', '')).toEqual(modelled(byPerson(downloadBatch(20))));
  });

  it('one fewer, when the function has asked itself', async () => {
    const { locks } = await setUp();
    const known = new KnownPeople();
    await locks(known);
    const { findGrant: _, ...calls } = modelled(byPerson(verifyLocks())).calls;
    expect((await locks(known)).calls).toEqual(calls);
  });
});

describe('a month in which people come by a git host', () => {
  const lines = (more: object) =>
    monthlyCost({ ...defaultWorkload, ...more })
      .lines.filter(({ what }) => what.startsWith('people: '))
      .map(({ timesPerMonth, cost }) => ({ timesPerMonth, cost }));

  it('costs a read more for each request, and for each push and fetch a write and the time of the host', () => {
    const [read, asked] = lines({ byPeoplePercent: 50 });
    // 60 pushes of a look for locks and a batch, and 120 fetches of a batch.
    expect(read?.timesPerMonth).toBe(500 * 240);
    expect(read?.cost.table).toBeCloseTo(500 * 240 * 0.125e-6, 9);
    expect(read?.cost.functions).toBeCloseTo(0, 12);
    expect(asked?.timesPerMonth).toBe(500 * 180);
    expect(asked?.cost.table).toBeCloseTo(500 * 180 * 0.625e-6, 9);
    // 310 ms of half a GB.
    expect(asked?.cost.functions).toBeCloseTo(500 * 180 * 0.31 * 0.5 * 13.3334e-6, 6);
    expect([asked?.cost.api, asked?.cost.logs]).toEqual([expect.closeTo(0, 12), expect.closeTo(0, 12)]);
  });

  it('asks again in a push that takes longer than the answer is kept, and nobody if nobody comes', () => {
    expect(lines({ byPeoplePercent: 100, pushSeconds: 900 })[1]?.timesPerMonth).toBe(1000 * (60 * 4 + 120));
    for (const { cost } of lines({})) expect(Object.values(cost).every((each) => each === 0)).toBe(true);
  });
});
