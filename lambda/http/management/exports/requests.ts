import * as z from 'zod';
import { wrongRequested } from '../../../domain/export/requested-objects.ts';
import { oidPattern } from '../../../domain/names.ts';
import { decodeCursor, exportCursorPattern } from '../cursor.ts';
import { repoName } from '../fields.ts';
import { pageOf } from '../queries.ts';

const requestedObject = z.strictObject({
  oid: z.string().regex(oidPattern, 'must be 64 lower-case hex digits'),
  name: z.string().min(1, 'must not be empty').optional().meta({
    description:
      'Its path in the archive: one that git takes, so not `.git/config`. Without it: `lfs/objects/ab/cd/OID`, where git-lfs looks for it below `.git`.',
  }),
});

export const startExportBody = z
  .strictObject({
    repo: repoName
      .optional()
      .meta({ description: 'Only objects of this repo. A trailing `.git` is not part of the name.' }),
    format: z.enum(['tar', 'zip']).optional().meta({ default: 'tar' }),
    prefer: z.enum(['time', 'cost']).optional().meta({
      default: 'time',
      description: 'What matters more, where the two differ.',
    }),
    dryRun: z
      .boolean()
      .optional()
      .meta({ default: false, description: 'Only tell what each way of making it would take.' }),
    objects: z
      .array(requestedObject)
      .min(1, 'must name an object, or be left out for all of them')
      .superRefine((objects, context) => {
        const wrong = wrongRequested(objects);
        if (wrong)
          context.addIssue({ code: 'custom', path: [wrong.index, wrong.field], message: wrong.message });
      })
      .optional()
      .meta({ description: 'Only these. As many as the body has room for, no oid and no name twice.' }),
  })
  .meta({ id: 'StartExport' });

export const exportQuery = pageOf(exportCursorPattern, decodeCursor);
