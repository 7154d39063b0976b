import { readFile } from 'node:fs/promises';
import type { ConsoleFiles, PackedConsole } from '../../core/rules/packed-console.ts';
import type { AwsCredentials } from '../../core/store/signing.ts';

/**
 * The credentials of the function's role. Lambda puts them into the environment, and starts a new process before they
 * expire. It doesn't say when that is. URLs that were signed with them end with them, so maybe before their own time, and
 * clients ask for others.
 *
 * @throws {Error} when the variables are missing.
 */
export function roleCredentials(env: Readonly<Record<string, string | undefined>>): AwsCredentials {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY)
    throw new Error("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY aren't set. Lambda sets both.");
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
  };
}

/** The files that a deployment puts beside the function's bundle. They are read once a container. */
export function createConsoleFiles(file: URL = new URL('console.json', import.meta.url)): ConsoleFiles {
  let files: Promise<PackedConsole> | undefined;
  return {
    read() {
      files ??= readFile(file, 'utf8').then((text): PackedConsole => JSON.parse(text));
      return files;
    },
  };
}
