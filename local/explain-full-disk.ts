import { StorageFullError } from '../lambda/ports/storage-full.ts';
import { isDiskFull } from './system/disk-full.ts';

/** The error itself, or one that tells the client of a request that the disk is full. */
export function explainFullDisk(error: unknown): unknown {
  if (!isDiskFull(error)) return error;
  const text =
    'The disk of this server is full, or beyond the quota of its user. Free some space on it, then try again. ' +
    'What is stored is safe.';
  return new StorageFullError(text, { cause: error });
}
