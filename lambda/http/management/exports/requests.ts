import * as z from 'zod';
import { decodeCursor, exportCursorPattern, pageOf, repoName } from '../../../api/contract/fields.ts';
import { listOf } from '../../../api/json.ts';
import { wrongRequested } from '../../../domain/export/requested-objects.ts';
import { oidPattern } from '../../../domain/names.ts';

/** More than a body has space for. */
export const requestedObjectsMax = 15_000;
const objectsRule = `must name 1 to ${requestedObjectsMax} objects, or be left out for all of them`;

export const startExportBodyBytesMax = 1024 * 1024;

/** UTF-16 units, which are no more than the bytes of UTF-8. */
const nameUnitsMax = 4096;

const requestedObject = z.strictObject({
  oid: z.string().regex(oidPattern, 'must be 64 lower-case hex digits'),
  name: z.string().min(1, 'must not be empty').max(nameUnitsMax).optional().meta({
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
    dryRun: z.boolean().optional().meta({ default: false, description: 'Only tell what it would take.' }),
    objects: listOf(requestedObject, { min: 1, max: requestedObjectsMax, rule: objectsRule })
      .superRefine((objects, context) => {
        const wrong = wrongRequested(objects);
        if (wrong)
          context.addIssue({ code: 'custom', path: [wrong.index, wrong.field], message: wrong.message });
      })
      .optional()
      .meta({ description: 'Only these. Name no oid and no name twice. The body takes about 14,000.' }),
  })
  .meta({ id: 'StartExport' });

export const exportQuery = pageOf(exportCursorPattern, decodeCursor);
