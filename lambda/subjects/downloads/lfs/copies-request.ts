import * as z from 'zod';
import { oidPattern } from '../../../core/rules/names.ts';
import { lenientObject, listOf } from '../../../frame/contract/json.ts';
import { hrefCharactersMax, hrefPattern, isHref } from '../rules/copies.ts';

/** Objects in one request, as git-lfs asks for them. */
const objectsMax = 100;

export const copiesRequestSchema = z
  .object({
    objects: listOf(
      lenientObject({
        oid: z.string().regex(oidPattern),
        size: z.int().min(0),
        href: z
          .string()
          .max(hrefCharactersMax)
          .regex(hrefPattern, 'must be a URL without a login')
          .refine(isHref, 'must be a URL without a login')
          .optional()
          .meta({
            description:
              'Where it can be downloaded without headers or redirects: https, on a public address. Without it, nothing is queued.',
          }),
        expires_in: z
          .number()
          .min(0)
          .optional()
          .describe('Seconds until `href` expires. Default: as long as URLs of this server are valid.'),
      }),
      { min: 1, max: objectsMax, rule: `must be 1 to ${objectsMax}` },
    ),
  })
  .meta({ id: 'CopiesRequest' });
