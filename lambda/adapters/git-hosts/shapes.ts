import * as z from 'zod';

/** A number of a host, as text. */
export const numberId = z.int().min(1).transform(String);

/** What somebody is called: shown to others, so it has no line breaks and the like. */
export const login = z
  .string()
  .min(1)
  .transform((text) => [...text.replace(/[\p{C}\p{Z}]/gu, '')].slice(0, 100).join(''))
  .refine((text) => text !== '');

/** What GitHub and Gitea tell of a person. */
export const accountShape = z.object({ id: numberId, login });

/** What GitHub and Gitea tell of a repository. */
export const repositoryShape = z.object({
  id: numberId,
  private: z.boolean(),
  archived: z.boolean().default(false),
  /** Of the person who asks. Absent: they are nobody to it. */
  permissions: z
    .object({ pull: z.boolean(), push: z.boolean(), triage: z.boolean().optional() })
    .nullish()
    .transform((permissions) => permissions ?? { pull: false, push: false }),
});
