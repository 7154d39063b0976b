import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { z } from 'zod';
import * as specs from '../../lambda/lists/specs.ts';
import { type Answer, type Api, basic, expectStatus, jsonOf, type TestTenant } from './api.ts';

/** Whether this subject is there, by its name in lambda/lists/specs.ts: what needs two subjects is tested where both are. */
export const serves = (subject: string) => subject in specs;

export const lfsType = 'application/vnd.git-lfs+json';
export const lfsHeaders = { accept: lfsType, 'content-type': lfsType };

const action = z
  .strictObject({
    href: z.url(),
    header: z.record(z.string(), z.string()).optional(),
    expires_in: z.number().int().positive(),
  })
  // A large object takes long. What its upload shows is no signed URL.
  .refine(({ href, expires_in }) => expires_in <= (href.includes('/info/lfs/') ? 86_400 : 1800));

const objectAnswer = z.strictObject({
  oid: z.string(),
  size: z.number(),
  authenticated: z.literal(true).optional(),
  actions: z
    .strictObject({ upload: action.optional(), verify: action.optional(), download: action.optional() })
    .optional(),
  error: z.strictObject({ code: z.number().int(), message: z.string().min(10) }).optional(),
});

const batchAnswer = z.strictObject({
  transfer: z.enum(['basic', 'lfs-quota']),
  objects: z.array(objectAnswer).min(1),
  hash_algo: z.literal('sha256'),
});

export type ObjectAnswer = z.output<typeof objectAnswer>;
export type Action = z.output<typeof action>;

export interface LfsObject {
  readonly oid: string;
  readonly size: number;
  readonly content: Buffer;
}

export type Place = TestTenant & { readonly repo: string };

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex');

/** An object of so many random bytes. */
export function objectOf(size: number): LfsObject {
  const content = randomBytes(size);
  return { oid: sha256(content), size, content };
}

export const pointer = ({ oid, size }: { oid: string; size: number }) => ({ oid, size });

/** An oid of which nothing is known. */
export const newOid = () => randomBytes(32).toString('hex');

export const batchPath = ({ tenant, repo }: { tenant: string; repo: string }) =>
  `/${tenant}/${repo}/info/lfs/objects/batch`;

/** A batch request with whatever body, by default with the tenant's write token. */
export function postBatch(
  api: Api,
  place: Place,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return api.send({
    method: 'POST',
    path: batchPath(place),
    headers: { ...lfsHeaders, ...basic(place.writeToken), ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}

/** The objects of a batch's answer, which is as every client expects it. */
export function objectsIn(answer: Answer): ObjectAnswer[] {
  expect(answer.status, answer.text).toBe(200);
  expect(answer.headers['content-type']).toBe(lfsType);
  const { objects } = batchAnswer.parse(jsonOf(answer));
  return objects;
}

/** Asks for these objects; the answer tells of each by its oid. */
export async function batch(
  api: Api,
  place: Place,
  operation: 'upload' | 'download',
  objects: readonly { oid: string; size: number }[],
): Promise<ReadonlyMap<string, ObjectAnswer>> {
  const answer = await postBatch(api, place, { operation, objects: objects.map(pointer) });
  const answers = objectsIn(answer);
  // A client hangs on an oid that is missing, and some take the answers by their place.
  expect(answers.map(pointer)).toEqual(objects.map(pointer));
  return new Map(answers.map((object) => [object.oid, object]));
}

/** The answer for one object. */
export async function ask(
  api: Api,
  place: Place,
  operation: 'upload' | 'download',
  object: { oid: string; size: number },
): Promise<ObjectAnswer> {
  const answer = (await batch(api, place, operation, [object])).get(object.oid);
  if (!answer) throw new Error('The object was not answered.');
  return answer;
}

/** The links of an upload that is admitted. */
export async function admitted(api: Api, place: Place, object: { oid: string; size: number }) {
  const { actions, error } = await ask(api, place, 'upload', object);
  if (!actions?.upload || !actions.verify) throw new Error(`Not admitted: ${error?.message}`);
  return { upload: actions.upload, verify: actions.verify };
}

export function put(api: Api, upload: Action, content: Buffer): Promise<Answer> {
  const type = { 'content-type': 'application/octet-stream' };
  return api.follow(upload.href, { method: 'PUT', headers: { ...type, ...upload.header }, body: content });
}

/** Asks whether an upload arrived, with whatever body and headers. */
export function postVerify(
  api: Api,
  verify: Action,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  expect(verify.href.startsWith(`${api.target.url}/`), verify.href).toBe(true);
  const own = Object.entries(verify.header ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return api.send({
    method: 'POST',
    path: verify.href.slice(api.target.url.length),
    headers: { ...lfsHeaders, ...Object.fromEntries(own), ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** Uploads objects as the client does: one batch, then a PUT of each, and a verify if the answer asks for it. */
export async function push(api: Api, place: Place, objects: readonly LfsObject[]): Promise<void> {
  const answers = await batch(api, place, 'upload', objects);
  for (const object of objects) {
    const { actions, error } = answers.get(object.oid) ?? {};
    if (!actions?.upload) throw new Error(`Not admitted: ${error?.message}`);
    expectStatus(await put(api, actions.upload, object.content), 200);
    if (!actions.verify) continue;
    expectStatus(await postVerify(api, actions.verify, pointer(object)), 200);
  }
}
