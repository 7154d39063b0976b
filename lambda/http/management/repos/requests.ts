import * as z from 'zod';
import { limit } from '../../../api/contract/fields.ts';
import { gitHostIdPattern, hostedNameCharactersMax } from '../../../domain/git-host.ts';
import { repoPattern } from '../../../domain/names.ts';

const limitBytes = limit('Bytes that may be stored in the repo. null: only the limit of the tenant holds.');

const publicRead = z
  .strictObject({
    monthlyLimitBytes: limit(
      'The ceiling: bytes that anybody may be offered in a month (UTC), all together. With the scope manage at ' +
        "most the tenant's download limit and what the stage allows, 1 TiB by default. null: unlimited, which only the " +
        'operator can say.',
    ),
  })
  .nullable()
  .meta({
    description: 'Lets anybody download from the repo, without a token. null: only those who have one.',
  });

const gitHost = z
  .strictObject({
    host: z
      .string()
      .regex(gitHostIdPattern, 'must be the id of one of the git hosts of this stage')
      .meta({ description: 'The id of one of the git hosts of the stage.', examples: ['github'] }),
    repo: z
      .string()
      .max(hostedNameCharactersMax)
      .meta({ description: 'Full name of the repository there, without .git.', examples: ['acme/game'] }),
    repoId: z
      .string()
      .regex(/^[1-9]\d{0,15}$/, 'must be the number of a repository, as text')
      .optional()
      .meta({
        description:
          'Its number there, which nobody can take over as they can a name. Without it, it is learned from the first ' +
          'person who comes.',
      }),
  })
  .nullable()
  .meta({
    description:
      'Lets people use the repo with their own tokens for the host, as they may use the repository there. null: only those ' +
      'who have a token of the tenant.',
  });

const repoRule = 'must be the name of a repo, without .git';

export const createRepoBody = z
  .strictObject({
    repo: z.string().regex(repoPattern, repoRule),
    limitBytes: limitBytes.optional(),
  })
  .meta({ id: 'CreateRepo' });

export const updateRepoBody = z
  .strictObject({
    limitBytes: limitBytes.optional(),
    publicRead: publicRead.optional(),
    gitHost: gitHost.optional(),
  })
  .refine((body) => Object.keys(body).length > 0, 'name limitBytes, publicRead or gitHost')
  .meta({ id: 'UpdateRepo', minProperties: 1 });
