import { AsyncLocalStorage } from 'node:async_hooks';
import type { Invocation } from '../../domain/invocation.ts';
import type { Invocations } from '../../ports/invocations.ts';

/**
 * The current invocation, from the asynchronous context: one process may run many at a time.
 *
 * @param options.firstIsCold marks the first one as a cold start: it waited for the process to start.
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
