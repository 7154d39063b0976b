import * as z from 'zod';
import {
  decodeDeletionCursor,
  deletionCursorPattern,
  flag,
  ofRepo,
  pageOf,
} from '../../../api/contract/fields.ts';

const deleteRule = 'only dryRun=true and dryRun=false are known. Nothing was deleted';

/** Whoever misspells dryRun must not lose what was only to be looked at. */
export const deleteQuery = z.strictObject(
  { dryRun: flag(deleteRule).meta({ default: false, description: 'Only tell what the delete would free.' }) },
  deleteRule,
);

export const deletionQuery = pageOf(deletionCursorPattern, decodeDeletionCursor).extend(ofRepo);
