import { createHash } from 'node:crypto';
import { z } from 'zod';
import { decodeObjectList, encodeObjectList } from '../../lambda/domain/export/object-list.ts';
import type { StoredObject } from '../../lambda/domain/export/stored-object.ts';
import { parseJson } from '../../lambda/domain/json.ts';

/** The file that says what a local export has: two lines of JSON, and the list of its objects. */

const format = 'lfs-quota export local';
/** Raised when an older version could not read, or would misread, what is written. */
const version = 1;

const headSchema = z.strictObject({
  /** What was asked for. An export that differs in any of these cannot be continued. */
  wish: z.strictObject({
    url: z.string(),
    tenant: z.string(),
    /** null: all of them. */
    repo: z.string().nullable(),
    /** A hash of the oids and names that were asked for. null: all objects. */
    wanted: z.string().nullable(),
  }),
  createdAtMs: z.number().int().nonnegative(),
  /** Objects that were asked for and not stored. */
  missing: z.array(z.strictObject({ oid: z.string(), sizeBytes: z.number().nullable() })).readonly(),
});

export type ExportWish = z.output<typeof headSchema>['wish'];

export interface ExportState extends Readonly<z.output<typeof headSchema>> {
  /** Each oid once, in the order of the oids. */
  readonly objects: readonly StoredObject[];
}

export type ReadState =
  | {
      readonly kind: 'read';
      readonly state: ExportState;
      /** A hash of all that it says. */
      readonly id: string;
    }
  /** It is not of this program. */
  | { readonly kind: 'foreign' }
  | { readonly kind: 'newer'; readonly version: number }
  /** It was of this program, but is not as it was written. */
  | { readonly kind: 'damaged' };

/** @returns the file, and a hash of all that it says. */
export function writeState({ objects, ...head }: ExportState): { text: string; id: string } {
  const body = `${JSON.stringify(head)}\n${Buffer.from(encodeObjectList(objects)).toString('utf8')}`;
  const id = sha256(body);
  return { text: `{"format":"${format}","version":${version},"sha256":"${id}"}\n${body}`, id };
}

export function readState(text: string): ReadState {
  const [first = ''] = text.split('\n', 1);
  const [, written, id] =
    /^\{"format":"lfs-quota export local","version":(\d+)(?:,"sha256":"(\w+)")?/.exec(first) ?? [];
  if (written === undefined) return { kind: 'foreign' };
  if (Number(written) > version) return { kind: 'newer', version: Number(written) };
  const body = text.slice(first.length + 1);
  if (id === undefined || sha256(body) !== id) return { kind: 'damaged' };
  const headEnd = body.indexOf('\n');
  const head = headSchema.safeParse(parseJson(body.slice(0, headEnd)));
  if (!head.success) return { kind: 'damaged' };
  const objects = decodeObjectList(Buffer.from(body.slice(headEnd + 1)));
  return { kind: 'read', state: { ...head.data, objects }, id };
}

/** What of two wishes is not the same, for a person; undefined if one can continue the other. */
export function differenceOf(saved: ExportWish, wanted: ExportWish): string | undefined {
  const [savedWords, wantedWords] = [wordsOf(saved), wordsOf(wanted)];
  for (const [index, words] of savedWords.entries())
    if (words !== wantedWords[index]) return `${words}, not ${wantedWords[index]}`;
  return saved.wanted === wanted.wanted ? undefined : 'of other objects';
}

function wordsOf({ url, tenant, repo, wanted }: ExportWish): string[] {
  return [
    `of ${tenant}`,
    repo === null ? 'of all repos' : `of the repo ${repo}`,
    `from ${url}`,
    wanted === null ? 'of all objects' : 'of the objects of a list',
  ];
}

/** A hash of what was asked for. */
export function wantedHash(objects: readonly { oid: string; name?: string | undefined }[]): string {
  return sha256(JSON.stringify(objects.map(({ oid, name = null }) => [oid, name])));
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
