import { describe, expect, it } from 'vitest';
import { deleteContract, deletionCursor } from '../../../../../lambda/frame/contract/deletes.ts';

const { query } = deleteContract['GET /v1/tenants/{tenant}/deletions'];

describe('the cursor of a list of deletions', () => {
  it.each([
    ['0123456789abcdef', 'game'],
    [`~${'a'.repeat(64)}`, ''],
    ['~a/b c.png', 'media'],
    ['~#', 'a#b'],
    ['~%23#%25%', 'media'],
    [`~${'#'.repeat(800)}`, 'media'],
    [`~${'\u65e5'.repeat(266)}`, 'media'],
  ])('after %j in %j leads back there', (deletionId, repo) => {
    const cursor = deletionCursor.encode({ deletionId, repo });
    expect(query.parse({ cursor })).toMatchObject({ cursor: { deletionId, repo } });
  });

  it('is none without an id or a repo', () => {
    for (const cursor of ['c', 'c23', 'c6723ff0', 'c67', `c23${'61'.repeat(9)}`])
      expect(query.safeParse({ cursor }).success).toBe(false);
  });
});
