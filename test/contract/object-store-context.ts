import { createHash } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import { expect, test } from 'vitest';
import {
  hasKeys,
  listPages,
  type ObjectListing,
  type ObjectStore,
  type UrlSigner,
} from '../../lambda/core/store/rules/store.ts';

/** One object store under test, through the adapters that the product uses. */
export interface ObjectStoreTarget {
  readonly store: ObjectStore;
  readonly listing: ObjectListing;
  /** Omitted for a store without HTTP. The URL tests are skipped then. */
  readonly signer?: UrlSigner;
  /** For what the adapters do not do, such as uploads in parts. Omitted for a store without HTTP. */
  readonly sdk?: { readonly client: S3Client; readonly bucket: string };
  /** How many requests of the adapters were answered. Omitted for a store without HTTP. */
  answers?(): number;
  /** Stores an object without the adapters. */
  put(key: string, body: Buffer): Promise<void>;
  stop(): Promise<void>;
}

/** Tests to skip, each with the reason, which is shown in the title of the skipped test. */
export interface ObjectStoreSkips {
  readonly listing?: string;
  readonly folders?: string;
  readonly urls?: string;
  readonly multipart?: string;
  readonly keyBesideFolder?: string;
  readonly controlCharacters?: string;
  readonly unsignedAmzHeaders?: string;
  /** By the title of the condition. */
  readonly conditions?: Readonly<Record<string, string>>;
}

export interface Context {
  readonly target: ObjectStoreTarget;
  /** A prefix that no other test uses. */
  prefix(): string;
  /** How keys below a prefix go on. */
  readonly names: KeyNames;
}

/** Names of objects that a store takes, by a text of a test's choice. They are in the order of their texts. */
export interface KeyNames {
  of(text: string): string;
  /** What exactly the names of those texts begin with that begin with this one. */
  beginning(text: string): string;
}

/** Most stores take any name. */
export const anyNames: KeyNames = { of: (text) => text, beginning: (text) => text };

export const sha256Hex = (body: Buffer) => createHash('sha256').update(body).digest('hex');

/** A test, or a skipped test with the reason in its title. */
export function testUnless(
  reason: string | undefined,
  name: string,
  run: () => Promise<void>,
  timeoutMs?: number,
): void {
  if (reason === undefined) test(name, run, timeoutMs);
  else test.skip(`${name}: ${reason}`, run);
}

export const soon = () => ({ deadlineMs: Date.now() + 10_000 });

export const lengthOf = (body: Buffer) => ({ 'content-length': String(body.length) });

export const lifetimeMs = 600_000;

export function signerOf({ target }: Context): UrlSigner {
  if (target.signer === undefined) throw new Error('This store has no signer: set `skips.urls`.');
  return target.signer;
}

/** Names with characters that some layer (XML, URLs, file names) could misread. */
export const oddNames = [
  'a b',
  'a+b',
  'a%20b',
  'a%2Fb',
  '100%',
  'ä',
  'a&b',
  'a<b>c',
  '"q"',
  "it's (!*)",
  '😀',
  '\ufb01',
  '~-_.',
  'a=b?c#d',
  ' lead and trail ',
  'Case',
  'case',
];

/** All keys that begin with a prefix, in pages of `maxKeys`. */
export async function keysBelow(listing: ObjectListing, prefix: string, maxKeys?: number): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of listPages(listing, { prefix, ...(maxKeys !== undefined && { maxKeys }) })) {
    for (let index = 0; index < page.keyCount; index += 1) keys.push(page.keyAt(index));
    // A page may be empty though more follow, but it always says where they are.
    expect(page.isTruncated).toBe(page.nextContinuationToken !== undefined);
  }
  expect(await hasKeys(listing, prefix)).toBe(keys.length > 0);
  return keys;
}
