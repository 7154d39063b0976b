import { vi } from 'vitest';
import type { MemoryStack } from '../../../../support/memory/stack.ts';

/** Counts requests to the store, and writes of repos, while it runs. */
export async function measured<T>(world: MemoryStack, run: () => Promise<T>) {
  const spies = [vi.spyOn(world.objects, 'listPage'), vi.spyOn(world.objects, 'listFolders')];
  const writes = vi.spyOn(world.ledger, 'commitRepo');
  const result = await run();
  const lists = spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  const repoWrites = writes.mock.calls.length;
  for (const spy of [...spies, writes]) spy.mockRestore();
  return { result, lists, repoWrites };
}
