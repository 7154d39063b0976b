import * as z from 'zod';
import { repoPattern } from '../../../domain/names.ts';
import { limit } from '../fields.ts';

const limitBytes = limit('Bytes that may be stored in the repo. null: only the limit of the tenant holds.');

const publicRead = z
  .strictObject({
    monthlyLimitBytes: limit(
      'The ceiling: bytes that anybody may be offered in a month (UTC), all together. null: unlimited, which only the ' +
        'operator can say.',
    ),
  })
  .nullable()
  .meta({
    description: 'Lets anybody download from the repo, without a token. null: only those who have one.',
  });

const repoRule = 'must be the name of a repo, without .git';

export const createRepoBody = z
  .strictObject({
    repo: z
      .string()
      .regex(repoPattern, repoRule)
      // The address of a repo may end with it, which means the same repo.
      .refine((name) => !name.endsWith('.git'), repoRule),
    limitBytes: limitBytes.optional(),
  })
  .meta({ id: 'CreateRepo' });

export const updateRepoBody = z
  .strictObject({ limitBytes: limitBytes.optional(), publicRead: publicRead.optional() })
  .refine((body) => Object.keys(body).length > 0, 'name limitBytes or publicRead')
  .meta({ id: 'UpdateRepo', minProperties: 1 });
