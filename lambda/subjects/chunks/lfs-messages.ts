import { count } from '../lfs/messages.ts';

/** 404 for a chunked upload without its token. */
export const uploadNotFound = 'Upload not found, or its token is invalid or expired. Push again.';

/** Errors of a client, not of its user. */
export const invalidChunks = {
  request: (issue: string) => `Invalid chunks request: ${issue}.`,
  noChunk: (chunk: number, chunks: number) => `There's no chunk ${chunk}: the file has ${count(chunks)}.`,
} as const;
