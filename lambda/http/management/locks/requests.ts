import * as z from 'zod';
import { decodeCursor, lockCursorPattern } from '../cursor.ts';
import { pageOf } from '../queries.ts';

const filterRule = 'only owner and path are known. No lock was released';

/** Which locks: of all owners and paths, unless one is named. */
const filters = {
  owner: z.string().min(1, 'must be a user, or the id of a token').optional().meta({
    description:
      'Only those of this user or, of tokens without one, of the token with this id; or of the person with this id, such as github:1234.',
  }),
  path: z.string().min(1, 'must be a path').optional().meta({ description: 'Only the one of this file.' }),
};

export const listLocksQuery = pageOf(lockCursorPattern, decodeCursor).extend(filters);

/** Whoever misspells a filter must not lose what it was to spare. */
export const releaseLocksQuery = z.strictObject(filters, filterRule);
