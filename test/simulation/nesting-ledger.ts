import { MemoryLedger } from '../support/memory/ledger.ts';

const paged = new Set(['reservations', 'reservationsOf', 'repos', 'deletions', 'deletionsOf']);
const single = new Set([
  ...[
    'createTenant',
    'updateTenant',
    'closeTenant',
    'addCommitted',
    'readRepo',
    'markDirty',
    'closeRepo',
    'openRepo',
    'removeRepo',
  ],
  ...[
    'putReservation',
    'issueReservation',
    'deleteReservation',
    'keepLate',
    'voidReservation',
    'readReservation',
  ],
  ...[
    'beginReconcile',
    'setLease',
    'commitRepo',
    'commitTenant',
    'putDeletion',
    'remark',
    'unmark',
    'claimDeletion',
  ],
  ...[
    'deletionsNaming',
    'countDeletions',
    'endDeletion',
    'removeDeletion',
    'announceDelete',
    'removeNote',
    'dueTenants',
  ],
  ...['readRefreshState', 'putRefreshState'],
]);

/**
 * A ledger beside whose every call something else may happen.
 *
 * @param input.beside called before and after each call, and after each page.
 */
export function nestingLedger(input: { pageSize: number; beside: () => Promise<void> }): MemoryLedger {
  const { beside } = input;
  return new Proxy(new MemoryLedger({ pageSize: input.pageSize }), {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const call = (...args: unknown[]): unknown => value.apply(target, args);
      if (paged.has(String(property))) return (...args: unknown[]) => pages(() => call(...args), beside);
      if (!single.has(String(property))) return call;
      return async (...args: unknown[]) => {
        await beside();
        const result = await call(...args);
        await beside();
        return result;
      };
    },
  });
}

async function* pages(open: () => unknown, beside: () => Promise<void>): AsyncIterable<unknown> {
  await beside();
  for await (const page of open() as AsyncIterable<unknown>) {
    yield page;
    await beside();
  }
}
