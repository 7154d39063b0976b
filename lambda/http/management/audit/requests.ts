import * as z from 'zod';
import { cursorPattern, decodeCursor, pageOf } from '../../../api/contract/fields.ts';
import { auditActions } from '../../../domain/audit.ts';

const dayRule = 'must be a day such as 2026-11-21';

const day = (description: string) => z.iso.date(dayRule).optional().meta({ description });

export const auditQuery = pageOf(cursorPattern, decodeCursor).extend({
  from: day('The first day, in UTC. Default: 400 days ago.'),
  to: day('The last day, in UTC. Default: today.'),
  action: z
    .enum(auditActions, 'must be an action such as token.create')
    .optional()
    .meta({ description: 'Only this action.' }),
});
