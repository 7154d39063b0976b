import type { Operation } from './operations.ts';

/** What the people of git hosts take (docs/git-hosts.md). `test/unit/cost/people.test.ts` compares the calls with the handlers. */

/**
 * An operation of git-lfs by somebody with a token for a git host. What the host said of it is in the table.
 *
 * @param isAsked it is not, and the host is asked.
 */
export function byPerson(operation: Operation, { isAsked = false }: { isAsked?: boolean } = {}): Operation {
  const { findToken: _, ...calls } = operation.calls;
  return {
    ...operation,
    calls: { ...calls, findMappedRepo: 1, findGrant: 1, ...(isAsked && { keepGrant: 1 }) },
    tableRounds: operation.tableRounds + (isAsked ? 1 : 0),
    ...(isAsked && { hostRounds: 1 }),
  };
}
