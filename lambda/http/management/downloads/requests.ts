import { cursorPattern, day, decodeDownloadCursor, ofRepo, pageOf } from '../../../api/contract/fields.ts';

export const downloadQuery = pageOf(cursorPattern, decodeDownloadCursor)
  .extend(ofRepo)
  .extend({
    from: day('The first day, in UTC. Default: the first of this month.'),
    to: day('The last day, in UTC. Default: today.'),
  });
