import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Stack } from '../e2e/stack.ts';
import { listStore, sizesOf, totalBytes, usageWithin } from '../e2e/store-truth.ts';
import { describeWith } from '../support/describe-with.ts';
import { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles, writeFiles } from '../support/payload.ts';
import type { Ended } from '../support/process.ts';
import {
  type Account,
  type Client,
  clients,
  compileJava,
  createAccount,
  huggingFace,
  installed,
  java,
  removeClasses,
} from './clients.ts';

const mib = 1024 ** 2;
const attributes = '*.bin filter=lfs diff=lfs merge=lfs -text\n';
const pushers = clients.filter((client) => client.push !== undefined);
const pullers = clients.filter((client) => client.pull !== undefined);

/** What a client pushes: files with one content, one that everybody has, one that aria2 gets in pieces. */
function filesOf({ name }: Client): Files {
  return new Map([
    [`${name}.bin`, bytesOf(name, 2.5 * mib + 1)],
    [`${name} 1 a.bin`, bytesOf(`${name} twice`, 3000)],
    [`${name} 1 b.bin`, bytesOf(`${name} twice`, 3000)],
    [`${name} ünï 日本.bin`, bytesOf(`${name} byte`, 1)],
    [`${name} empty.bin`, Buffer.alloc(0)],
    ['shared.bin', bytesOf('shared', 70_000)],
  ]);
}

const all: Files = new Map(pushers.flatMap((client) => [...filesOf(client)]));
const emptyOid = createHash('sha256').digest('hex');
const notEmpty = (files: Files): Files => new Map([...files].filter(([, bytes]) => bytes.length > 0));

const succeeded = (ended: Ended) => expect(ended.code, ended.err).toBe(0);

describeWith(
  {
    title: 'a client other than git-lfs',
    found: installed,
    missing: 'CLIENTS_… is not set. Run: .ci/clients.sh run -- npm run test:clients',
  },
  () => {
    let stack: Stack;
    let folder: string;
    let account: Account;
    let repository: string;
    const pushes = new Map<string, Promise<Ended>>();

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "lfs-quota client's "));
      [stack] = await Promise.all([Stack.start(), compileJava()]);
      account = await newAccount('acme', 1024 * mib);
      repository = await pointersOf(notEmpty(all));
    });

    afterAll(async () => {
      await Promise.all([Stack.closeAll(), GitUser.closeAll(), removeClasses()]);
      await rm(folder, { recursive: true, force: true });
    });

    async function managed(path: string, body: object): Promise<{ token: string }> {
      const authorization = `Bearer ${stack.adminToken}`;
      const answer = await fetch(`${stack.url}/v1/tenants${path}`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(answer.status).toBe(201);
      return answer.json() as Promise<{ token: string }>;
    }

    async function newAccount(tenant: string, limitBytes: number): Promise<Account> {
      await managed('', { tenant, limitBytes });
      const { token } = await managed(`/${tenant}/tokens`, { scope: 'write' });
      return createAccount(stack.url, tenant, token);
    }

    /** A work tree of git with the pointers of files, and nothing that they point to. */
    async function pointersOf(files: Files): Promise<string> {
      const tree = await mkdtemp(join(folder, 'pointers-'));
      const pointers = Object.entries(digests(files)).map(([path, digest]) => {
        const [oid, size] = digest.split(' ');
        const text = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
        return [path, Buffer.from(text)] as const;
      });
      await writeFiles(tree, new Map([...pointers, ['.gitattributes', Buffer.from(attributes)]]));
      await account.user.git(tree, 'init', '--quiet');
      await account.user.commitAll(tree, 'Pointers');
      return tree;
    }

    async function push(client: Client, as: Account, files: Files): Promise<Ended> {
      const work = await mkdtemp(join(folder, 'push-'));
      const tree = join(work, 'tree');
      await mkdir(tree);
      await writeFiles(tree, new Map([...files, ['.gitattributes', Buffer.from(attributes)]]));
      await as.user.git(work, 'init', '--quiet', '--bare', 'remote.git');
      if (client.push === undefined) throw new Error(`${client.name} doesn't push.`);
      return client.push(as, tree, join(work, 'remote.git'));
    }

    /** The one push of a client that those who pull wait for. */
    function pushed(client: Client): Promise<Ended> {
      const pushing = pushes.get(client.name) ?? push(client, account, filesOf(client));
      pushes.set(client.name, pushing);
      return pushing;
    }

    async function allPushed(): Promise<void> {
      for (const pusher of pushers) succeeded(await pushed(pusher));
    }

    async function pull(client: Client, as: Account, target: string): Promise<Ended> {
      if (client.pull === undefined) throw new Error(`${client.name} doesn't pull.`);
      return client.pull(as, repository, target);
    }

    it.each(pushers)('$name pushes', async (client) => {
      succeeded(await pushed(client));
      const stored = sizesOf(await listStore(stack, 'acme/game'));
      for (const [oid, sizeBytes] of objectsOf(filesOf(client))) expect(stored.get(oid)).toBe(sizeBytes);
    });

    it('what they pushed is counted to the byte and object', async () => {
      await allPushed();
      const stored = sizesOf(await listStore(stack, 'acme/game'));
      const objectCount = stored.size;
      // Some make an object of an empty file.
      stored.delete(emptyOid);
      expect(stored).toEqual(objectsOf(all));
      const expected = { storedBytes: totalBytes(stored), objectCount };
      const usage = await usageWithin(stack, { tenant: 'acme', expected, timeoutMs: 120_000 });
      expect(usage).toMatchObject(expected);
    });

    it.each(pullers)('$name pulls what all of them pushed', async (client) => {
      await allPushed();
      const target = await mkdtemp(join(folder, 'pull-'));
      succeeded(await pull(client, account, target));
      expect(digests(await readFiles(target))).toEqual(digests(notEmpty(all)));
    });

    it.each(clients.filter(({ name }) => name === 'curl' || name === 'wget'))(
      '$name continues a download that was cut',
      async (client) => {
        await allPushed();
        const target = await mkdtemp(join(folder, 'cut-'));
        const [[path = '', bytes = Buffer.alloc(0)] = []] = all;
        await writeFile(join(target, path), bytes.subarray(0, mib));
        succeeded(await pull(client, account, target));
        expect(digests(await readFiles(target))).toEqual(digests(notEmpty(all)));
      },
    );

    const refused = [...clients, huggingFace].filter((client) => client.refused !== undefined);
    it.each(refused)('$name says that a token is wrong', async (client) => {
      // No two have the same: the server counts how often each was sent.
      const wrong = createHash('sha256').update(client.name).digest('hex').slice(0, 40);
      const stranger = await createAccount(
        stack.url,
        'acme',
        `${account.token.slice(0, -wrong.length)}${wrong}`,
      );
      const ended = [
        ...(client.push ? [await push(client, stranger, filesOf(client))] : []),
        ...(client.pull ? [await pull(client, stranger, await mkdtemp(join(folder, 'refused-')))] : []),
      ];
      for (const { code, out, err } of ended) {
        expect(code).not.toBe(0);
        expect(out + err).toMatch(client.refused ?? '');
      }
    });

    /** Pushes a file that doesn't fit. Nothing may be stored. */
    async function pushOver(client: Client, tenant: string): Promise<Ended> {
      const files = new Map([['large.bin', bytesOf('large', 2 * mib)]]);
      const ended = await push(client, await newAccount(tenant, mib), files);
      expect(await listStore(stack, `${tenant}/game`)).toEqual(new Map());
      return ended;
    }

    const tenantOf = ({ name }: Client) => `small-${name.toLowerCase().replaceAll('_', '-')}`;
    const limited = [...pushers, huggingFace];

    it.each(limited.filter((client) => !client.overlooksRefusals))(
      '$name says what is over the limit',
      async (client) => {
        const { code, out, err } = await pushOver(client, tenantOf(client));
        expect(code).not.toBe(0);
        expect(out + err).toContain(`Storage limit reached: ${tenantOf(client)} uses 0 B of 1 MiB`);
      },
    );

    // Should a new release of it fail, let it say what is over the limit.
    it.each(limited.filter((client) => client.overlooksRefusals))(
      '$name overlooks what is over the limit, and stores nothing',
      async (client) => succeeded(await pushOver(client, tenantOf(client))),
    );

    it('gitlfs-client locks and unlocks', async () => {
      const ended = await java(await newAccount('locks', mib), 'gitlfs', 'lock', '.', '.');
      succeeded(ended);
      expect(ended.out).toBe('scene.bin 1 1 0\n');
    });

    it('huggingface_hub finds what is stored, and fails clearly where it would have to upload', async () => {
      await allPushed();
      succeeded(await push(huggingFace, account, notEmpty(all)));
      const before = await listStore(stack, 'acme/game');
      const { code, err } = await push(huggingFace, account, new Map([['new.bin', bytesOf('new', 10)]]));
      expect(code).not.toBe(0);
      expect(err).toContain("Error while uploading 'new.bin'");
      expect(await listStore(stack, 'acme/game')).toEqual(before);
    });
  },
);
