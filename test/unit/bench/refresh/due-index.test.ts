import { expect, it } from 'vitest';
import { DueIndex, dead, full, never } from '../../../../bench/refresh/due-index.ts';
import { longestDue } from '../../../../lambda/adapters/dynamodb/due-tenants.ts';
import { Random } from '../../../support/random.ts';

const tenants = 40;
const beganMs = 1_800_000_000_000;

it('the index of a million tenants finds what a plain list finds', () => {
  const random = new Random(1);
  const index = new DueIndex({ tenants, beganMs });
  const list = new Map<string, { tenant: string; full: boolean; deletes: boolean; dueAtMs: number }>();
  for (let step = 0; step < 3000; step += 1) {
    const [tenant, kind] = [random.int(0, tenants - 1), random.pick([full, dead])];
    // Few moments, so that many become due together.
    const dueAtMs = random.chance(0.2) ? never : beganMs + 20_000 * random.int(0, 60);
    index.set(tenant, kind, dueAtMs);
    list.set(`${tenant}.${kind}`, { tenant: String(tenant), full: kind === full, deletes: false, dueAtMs });
    const afterMs = beganMs - 1 + 20_000 * random.int(0, 30);
    const [untilMs, tenantsMax] = [afterMs + 20_000 * random.int(1, 40), random.int(1, 30)];
    const found = index.find({ afterMs, untilMs, tenantsMax });
    const due = [...list.values()].filter((each) => afterMs < each.dueAtMs && each.dueAtMs <= untilMs);
    const wanted = longestDue(due, { untilMs, readUntilMs: found.untilMs, tenantsMax });
    const sorted = (all: typeof wanted.due) => [...all].sort((a, b) => Number(a.tenant) - Number(b.tenant));
    expect(sorted([...found.due])).toEqual(sorted(wanted.due));
    // It finds all, unless there are too many.
    if (found.untilMs < untilMs) expect(found.due.length).toBeGreaterThanOrEqual(tenantsMax);
  }
});
