import { describe, expect, it } from 'vitest';
import type { Warnings } from '../../../../../lambda/adapters/dynamodb/warnings.ts';
import type { WarningEvent } from '../../../../../lambda/domain/warning.ts';
import { handOverWarnings } from '../../../../../lambda/use-cases/warnings/hand-over-warnings.ts';
import { memoryDeps, recordingWebhookQueue } from '../../../../support/memory/deps.ts';
import { MemoryWarnings } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const figures = { atMs: 1_800_000_000_000, storedBytes: 85, limitBytes: 100 };

/** The same warnings, with some methods replaced. */
function replacing(warnings: MemoryWarnings, methods: Partial<Warnings>): Warnings {
  return new Proxy<Warnings>(warnings, {
    get(target, name) {
      const replaced: unknown = Reflect.get(methods, name);
      const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return replaced ?? method.bind(target);
    },
  });
}

async function world() {
  const warnings = new MemoryWarnings();
  const { log, entries } = recordingLog();
  const published: WarningEvent[] = [];
  const failing = new Set<string>();
  const eventBus = {
    publish: async (events: readonly WarningEvent[]) => {
      if (events.some(({ data }) => failing.has(String(data['tenant'])))) throw new Error('The bus is down.');
      published.push(...events);
    },
  };
  const { queue: webhookQueue, messages } = recordingWebhookQueue();
  const deps = { ...memoryDeps({ warnings, log, webhookQueue }), eventBus };
  const raise = async (tenant: string) => {
    const { level } = await warnings.read(tenant);
    const warning = {
      kind: 'level',
      ...figures,
      previousLevel: level,
      level: level === 80 ? 0 : 80,
    } as const;
    expect(await warnings.raiseLevel({ tenant, epoch: 1, warning })).toBe('raised');
  };
  return { warnings, deps, raise, published, failing, entries, messages, run: () => handOverWarnings(deps) };
}

describe('warnings that were raised', () => {
  it('are handed over once, in their order', async () => {
    const { raise, run, published, entries, messages } = await world();
    expect(await run()).toBe(0);
    for (const tenant of ['acme', 'acme', 'other']) await raise(tenant);
    expect(await run()).toBe(3);
    expect(published.map(({ id }) => id)).toEqual(['acme:1', 'acme:2', 'other:1']);
    expect(entries.filter(({ message }) => message === 'warning')).toHaveLength(3);
    expect(await run()).toBe(0);
    await raise('acme');
    expect(await run()).toBe(1);
    expect(published.at(-1)?.id).toBe('acme:3');
    expect(messages).toEqual(published.map((event) => ({ tenant: event.data['tenant'], event })));
  });

  it('stay if they could not be handed over, and keep no other tenant from its own', async () => {
    const { raise, run, published, failing, entries } = await world();
    for (const tenant of ['acme', 'other']) await raise(tenant);
    failing.add('acme');
    expect(await run()).toBe(1);
    expect(published.map(({ id }) => id)).toEqual(['other:1']);
    expect(entries.filter(({ message }) => message === 'warnings not handed over')).toHaveLength(1);
    failing.clear();
    expect(await run()).toBe(1);
    expect(published.at(-1)?.id).toBe('acme:1');
  });

  it('are handed over again, with the same id, if whoever did it died before it was settled', async () => {
    const { deps, warnings, raise, published } = await world();
    await raise('acme');
    const dying = replacing(warnings, {
      settle: async () => Promise.reject(new Error('killed')),
    });
    expect(await handOverWarnings({ ...deps, warnings: dying })).toBe(0);
    expect(await handOverWarnings(deps)).toBe(1);
    expect(published.map(({ id }) => id)).toEqual(['acme:1', 'acme:1']);
    expect(await handOverWarnings(deps)).toBe(0);
  });

  it('that cannot be looked for, or of which the index tells late, do no harm', async () => {
    const { deps, warnings, raise, entries, published } = await world();
    await raise('acme');
    const broken = replacing(warnings, {
      listPending: async () => Promise.reject(new Error('The index is down.')),
    });
    expect(await handOverWarnings({ ...deps, warnings: broken })).toBe(0);
    expect(entries.map(({ message }) => message)).toEqual(['warnings not looked for']);
    const late = replacing(warnings, { listPending: async () => ['gone', 'acme'] });
    expect(await handOverWarnings({ ...deps, warnings: late })).toBe(1);
    expect(published).toHaveLength(1);
  });

  it('are looked for in a hundred tenants at a time', async () => {
    const { deps, warnings } = await world();
    const asked: object[] = [];
    const listPending = async (input: object) => {
      asked.push(input);
      return [];
    };
    expect(await handOverWarnings({ ...deps, warnings: replacing(warnings, { listPending }) })).toBe(0);
    expect(asked).toEqual([{ tenantsMax: 100 }]);
  });

  it('are logged, and so is what keeps them', async () => {
    const { deps, raise, run, failing, entries, warnings } = await world();
    const error = new Error('The index is down.');
    const broken = replacing(warnings, { listPending: () => Promise.reject(error) });
    await handOverWarnings({ ...deps, warnings: broken });
    await raise('acme');
    failing.add('acme');
    await run();
    failing.clear();
    await run();
    expect(entries).toMatchObject([
      { level: 'warn', message: 'warnings not looked for', fields: { error } },
      { level: 'warn', message: 'warnings not handed over', fields: { tenant: 'acme' } },
      {
        level: 'info',
        message: 'warning',
        fields: { tenant: 'acme', id: 'acme:1', type: 'storage.level', level: 80, storedBytes: 85 },
      },
    ]);
    expect(entries[1]?.fields['error']).toBeInstanceOf(Error);
    // Of an index that tells late, nothing is said.
    entries.length = 0;
    await handOverWarnings({ ...deps, warnings: replacing(warnings, { listPending: async () => ['acme'] }) });
    expect(entries).toEqual([]);
  });
});
