import { createHash } from 'node:crypto';
import * as z from 'zod';
import { httpEvent } from '../../test/support/http-event.ts';
import { objectsIn } from '../list-server/keys.ts';
import { ListServer } from '../list-server/server.ts';
import { repo, tenant, token } from './seed.ts';

/** A batch of new objects, or of those that a repo has. */
export interface Case {
  readonly name: string;
  /** Objects that the last count found in the repo. */
  readonly repoObjects: number;
  /** @param call its number, so that no two calls have the same new objects. */
  readonly event: (call: number) => unknown;
  /** @throws {Error} when the work was not done: a fast wrong answer does not count. */
  readonly check: (answer: unknown) => void;
}

const mediaType = 'application/vnd.git-lfs+json';
const httpAnswer = z.object({ statusCode: z.number(), body: z.string() });
const batchBody = z.object({ objects: z.array(z.object({ actions: z.record(z.string(), z.unknown()) })) });

function batch(operation: 'upload' | 'download', count: number, repoObjects: number): Case {
  const set = new ListServer().keySet(repoObjects);
  const stored = objectsIn(set.page({ after: '', keysMax: count }), set.prefix);
  const newObjects = (call: number) =>
    Array.from({ length: count }, (_, index) => {
      const oid = createHash('sha256').update(`${call}/${index}`).digest('hex');
      return { oid, size: 1000 };
    });
  return {
    name: `${operation} of ${count}, repo of ${repoObjects.toLocaleString('en')}`,
    repoObjects,
    event: (call) => {
      const objects =
        operation === 'upload'
          ? newObjects(call)
          : stored.map(({ name, sizeBytes }) => ({ oid: name, size: sizeBytes }));
      const body = { operation, transfers: ['basic'], objects, hash_algo: 'sha256' };
      return httpEvent({
        routeKey: 'POST /{tenant}/{repo}/info/lfs/objects/batch',
        path: `/${tenant}/${repo}.git/info/lfs/objects/batch`,
        pathParameters: { tenant, repo: `${repo}.git` },
        headers: {
          authorization: `Basic ${Buffer.from(`git:${token}`).toString('base64')}`,
          accept: mediaType,
          'content-type': `${mediaType}; charset=utf-8`,
          host: 'lfs.example.com',
        },
        // API Gateway treats the media type of Git LFS as binary.
        body: Buffer.from(JSON.stringify(body)).toString('base64'),
        isBase64Encoded: true,
      });
    },
    check: (answer) => {
      const { statusCode, body } = httpAnswer.parse(answer);
      if (statusCode !== 200) throw new Error(`Answered ${statusCode}: ${body}`);
      const { objects } = batchBody.parse(JSON.parse(body));
      const done = objects.filter(({ actions }) => operation in actions).length;
      if (done !== count) throw new Error(`${done} of ${count} objects have an action ${operation}.`);
    },
  };
}

export const cases: readonly Case[] = [
  batch('upload', 1, 100),
  batch('upload', 100, 1000),
  batch('upload', 100, 4000),
  batch('upload', 100, 20_000),
  batch('download', 100, 1000),
];
