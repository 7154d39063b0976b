import type * as z from 'zod';

/** The first thing that a schema found wrong, in words: `limitBytes: must be …`. */
export function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return 'it does not have the expected shape';
  const path = issue.path.join('.');
  return path ? `${path}: ${issue.message}` : issue.message;
}
