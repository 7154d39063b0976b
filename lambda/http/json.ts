import type * as z from 'zod';

const issueCharactersMax = 200;

/** The first thing that a schema found wrong, in a few words: `limitBytes: must be …`. */
export function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  if (!issue) return 'it does not have the expected shape';
  const path = issue.path.join('.');
  const text = path ? `${path}: ${issue.message}` : issue.message;
  return text.length > issueCharactersMax ? `${text.slice(0, issueCharactersMax)}…` : text;
}
