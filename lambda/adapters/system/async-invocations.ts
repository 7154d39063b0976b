import { AsyncLocalStorage } from 'node:async_hooks';
import type { Invocation } from '../../domain/invocation.ts';
import type { Invocations } from '../../ports/invocation.ts';

/**
 * Invocations that many may be under way of in one process, each with a context of its own.
 *
 * @param options.firstIsCold the first one waited for the process to start.
 */
export function createInvocations(options: { firstIsCold?: boolean } = {}): Invocations {
  const running = new AsyncLocalStorage<Invocation>();
  let isCold = options.firstIsCold ?? false;
  return {
    during(invocation, work) {
      const begun = isCold ? { ...invocation, coldStart: true as const } : invocation;
      isCold = false;
      return running.run(begun, work);
    },
    current: () => running.getStore() ?? {},
  };
}
