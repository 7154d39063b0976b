import * as z from 'zod';
import { type Problem, type ProblemCode, problemTypes } from './problems.ts';

/** {@link Problem} as a schema, apart from problems.ts: the smallest functions do without zod. */
export const problemSchema: z.ZodType<Problem> = z
  .object({
    type: z.string().meta({ format: 'uri', description: '`urn:lfs-quota:problem:` and the code.' }),
    code: z.enum(Object.keys(problemTypes) as [ProblemCode, ...ProblemCode[]]),
    title: z.string(),
    status: z.int(),
    detail: z.string().meta({ description: 'What is wrong and what to do, for people.' }),
  })
  .meta({ id: 'Problem', description: 'An error of the management API (RFC 9457).' });
