import * as z from 'zod';
import { oidPattern } from '../../rules/names.ts';
import type { Contract } from './contract.ts';
import {
  alphanumeric,
  bytes,
  decodeCursor,
  encodeCursor,
  flag,
  nextCursor,
  ofRepo,
  pageOf,
  time,
} from './fields.ts';
import { oid } from './objects.ts';

interface DeletionPlace {
  readonly repo: string;
  readonly deletionId: string;
}

/** Bytes of a name in the cursor of a list of deletions, at most. A folder of the store can have a longer name than a repo. */
const folderBytesMax = 1024;

/** What the cursor of a list of deletions looks like: in hex an id (letters, digits and `-`, with `~` first or without), `#` and the name of a repo. */
const deletionCursorPattern = new RegExp(
  `^c(?:7e)?(?:${alphanumeric}|2d){1,64}23(?:[0-9a-f]{2}){0,${folderBytesMax}}$`,
);

export function encodeDeletionCursor({ repo, deletionId }: DeletionPlace): string {
  return encodeCursor(`${deletionId}#${repo}`);
}

/** @param cursor of the form {@link deletionCursorPattern}. */
function decodeDeletionCursor(cursor: string): DeletionPlace {
  const text = decodeCursor(cursor);
  const end = text.indexOf('#');
  return { deletionId: text.slice(0, end), repo: text.slice(end + 1) };
}

const deleteRule = 'only dryRun=true and dryRun=false are known. Nothing was deleted';

/** Whoever misspells dryRun must not lose what was only to be looked at. */
const deleteQuery = z.strictObject(
  { dryRun: flag(deleteRule).meta({ default: false, description: 'Only tell what the delete would free.' }) },
  deleteRule,
);

const deletionQuery = pageOf(deletionCursorPattern, decodeDeletionCursor).extend(ofRepo);

const deletePlanSchema = z
  .object({
    tenant: z.string(),
    repo: z.string().optional(),
    oid: z.string().optional(),
    objectCount: z.int().min(0).nullable().meta({ description: 'As last counted. null: never counted.' }),
    bytes: bytes.nullable(),
    dueAt: time.meta({
      description:
        'From then on all of it goes. Of a tenant, what open uploads still hold goes when those have expired.',
    }),
    waitsFor: z.literal('uploads').optional().meta({
      description:
        'Why it is not due sooner: it was pushed just now, and its upload URLs could bring it back until `dueAt`.',
    }),
  })
  .meta({ id: 'DeletePlan' });

export type DeletePlanBody = z.output<typeof deletePlanSchema>;

const deletionSchema = z
  .object({
    repo: z.string(),
    oid: z.string().regex(oidPattern),
    sizeBytes: bytes,
    state: z.enum(['marked', 'deleting']).meta({
      description: 'marked: a push that names it keeps it. deleting: nobody can keep it any more.',
    }),
    dueAt: time.meta({
      description:
        'It goes no sooner. If it was pushed shortly before the delete, it goes only when its upload URLs have expired.',
    }),
  })
  .meta({ id: 'Deletion' });

const deletionPageSchema = z
  .object({ deletions: z.array(deletionSchema), nextCursor })
  .meta({ id: 'DeletionPage' });

export type DeletionBody = z.output<typeof deletionSchema>;

const plan = { objectCount: 6, bytes: 14_700_000, dueAt: '2026-11-21T05:00:00Z' };

const deleteAnswers = (path: object) => ({
  200: {
    description: 'With dryRun: what the delete would free. Nothing was deleted.',
    schema: deletePlanSchema,
    example: { ...path, ...plan },
  },
  202: {
    description: 'The delete has begun.',
    schema: deletePlanSchema,
    example: { ...path, ...plan },
  },
});

/** Deletes. */
export const deleteContract = {
  'GET /v1/tenants/{tenant}/deletions': {
    id: 'listDeletions',
    summary: 'Objects that are marked for deletion, and when they go',
    description:
      'Those that somebody asked to delete one by one, repo by repo. One that was pushed again since is not marked any ' +
      'more. What goes with a whole repo, or by a clean-up, is told by those. A page may be shorter than asked for, or ' +
      'empty, without being the last.',
    access: 'reader',
    query: deletionQuery,
    answers: {
      200: {
        description: 'One page.',
        schema: deletionPageSchema,
        example: {
          deletions: [
            { repo: 'game', oid, sizeBytes: 2_450_000, state: 'marked', dueAt: '2026-11-21T06:00:00Z' },
          ],
          nextCursor: null,
        },
      },
    },
    problems: ['repo-required', 'repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}': {
    id: 'deleteTenant',
    summary: 'Delete a tenant with all that it stores',
    description:
      'Revokes its tokens and empties its repos. The name stays taken. While the stage adopts a repo of it, this is ' +
      'refused: the objects lie where another server put them.',
    access: 'admin',
    action: 'tenant.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme' }),
    problems: ['tenant-has-adopted'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}': {
    id: 'deleteRepo',
    summary: 'Delete a repo with all that it stores',
    description: 'Pushes and pulls answer 404 until it is empty. Then its name can be used anew.',
    access: 'manager',
    action: 'repo.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme', repo: 'game' }),
    problems: ['repo-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/repos/{repo}/objects/{oid}': {
    id: 'deleteObject',
    summary: 'Delete one object after a grace time',
    description: 'Pushing it again before then keeps it.',
    access: 'manager',
    action: 'object.delete',
    query: deleteQuery,
    answers: deleteAnswers({ tenant: 'acme', repo: 'game', oid }),
    problems: ['object-not-found', 'deletions-full'],
  },
} as const satisfies Contract;
