import * as z from 'zod';

const limitRule = 'must be a whole number of bytes from 0 to 2^53 − 1, or null: unlimited';

export const updateRepoBody = z
  .strictObject({
    publicRead: z
      .strictObject({
        monthlyLimitBytes: z
          .int(limitRule)
          .min(0, limitRule)
          .nullable()
          .meta({
            description:
              'The ceiling: bytes that anybody may be offered in a month (UTC), all together. null: unlimited, which only ' +
              'the operator can say.',
          }),
      })
      .nullable()
      .meta({
        description: 'Lets anybody download from the repo, without a token. null: only those who have one.',
      }),
  })
  .meta({ id: 'UpdateRepo' });
