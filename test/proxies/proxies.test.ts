import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packedInto } from '../support/child-stack.ts';
import { describeWith } from '../support/describe-with.ts';
import { GitUser } from '../support/git-user.ts';
import { bytesOf, digests, type Files, readFiles } from '../support/payload.ts';
import { gitEnvironment, run } from '../support/process.ts';
import { nginx, ProxiedServer, type ProxyKind, shippedCaddy, shippedNginx } from './proxied-server.ts';

const megabyte = 1_000_000;
const pushMsMax = 300_000;
const made = mkdtempSync(join(tmpdir(), 'lfs-quota-proxies-'));
let program = '';
beforeAll(async () => {
  program = await packedInto(join(made, 'packed'));
});
afterAll(() => rmSync(made, { recursive: true, force: true }));

/** Somebody of the tenant `acme`, with an empty repo, behind a proxy. */
function usePlace(proxy: ProxyKind) {
  const place = {} as {
    server: ProxiedServer;
    user: GitUser;
    workTree: string;
    remote: string;
    token: string;
  };
  beforeAll(async () => {
    const server = await ProxiedServer.start(program, mkdtempSync(join(made, 'server-')), proxy);
    place.server = server;
    const token = await server.newTenant();
    const user = await GitUser.create({ url: server.url, token }, pushMsMax);
    const remote = await user.createRemote('game');
    const lfsUrl = `${server.url}/acme/game/info/lfs`;
    const workTree = await user.createWorkTree('work', { remote, lfsUrl });
    Object.assign(place, { user, workTree, remote, token });
  });
  afterAll(() => place.server?.close());
  return {
    place,
    /** Commits a file of this size, and pushes it. */
    async push(name: string, sizeBytes: number) {
      const { user, workTree } = place;
      const files: Files = new Map([[`${name}.bin`, bytesOf(name, sizeBytes)]]);
      await user.commitFiles(workTree, files, name);
      return user.tryGit(workTree, ['push', 'origin', 'HEAD']);
    },
    check: (...args: string[]) => place.server.cli('check', '--tenant', 'acme', ...args),
  };
}

/** An nginx whose name is another app's, too. */
const sharedNginx: ProxyKind = {
  ...nginx(
    `client_max_body_size 0; proxy_request_buffering off; proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    location / { return 404; } location /a/lfs/ { proxy_pass SERVER; }`,
  ),
  path: '/a/lfs',
};

const limited = (flags?: ProxyKind['flags']): ProxyKind => ({
  ...nginx(
    `client_max_body_size 100m; proxy_request_buffering off; proxy_max_temp_file_size 0;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; location / { proxy_pass SERVER; }`,
  ),
  ...(flags && { flags }),
});

const programs = ['nginx', 'caddy', 'git-lfs'] as const;
const find = (name: string) =>
  spawnSync('sh', ['-c', `PATH=$PATH:/usr/sbin:/usr/local/sbin; command -v ${name}`]).status === 0;
const missing = programs.filter((name) => !find(name));

describeWith(
  {
    title: 'a proxy before the server',
    found: missing.length === 0 || undefined,
    missing: `Not installed: ${missing.join(', ')}. On Debian: apt-get install ${missing.join(' ')}`,
  },
  () => {
    afterAll(() => GitUser.closeAll());

    describe('nginx as it comes', () => {
      const { place, push, check } = usePlace(nginx('location / { proxy_pass SERVER; }'));

      it('is no use for large files, and check says which setting is missing', async () => {
        expect(await push('small', megabyte / 2)).toMatchObject({ code: 0 });
        await place.user.git(place.workTree, 'config', 'lfs.transfer.maxretries', '1');
        expect((await push('large', 3 * megabyte)).code).not.toBe(0);
        const { code, out, err } = await check();
        expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('client_max_body_size 0;') });
        expect(out).toMatch(
          /^warn {2}proxy {5}All clients share one rate limit\. nginx: proxy_set_header X-Forwarded-For/m,
        );
        expect(out).toMatch(/^warn {2}proxy {5}.*5 GiB got 413/m);
        expect(out).toMatch(/^FAIL {2}upload {4}127\.0\.0\.1:\d+: The store returned 413\.$/m);
        expect(out).toContain('ok    clean up');
        expect(out).not.toContain('works');
      });

      it('lets a push fail that meets a restart', async () => {
        await place.server.killServer();
        expect((await push('down', 1000)).code).not.toBe(0);
        await place.server.startServer();
      });
    });

    describe.each([
      {
        what: 'stores uploads before it sends them on',
        body: 'location / { client_max_body_size 0; proxy_pass SERVER; }',
        says: [/^warn {2}proxy .*proxy_request_buffering off;$/m, /works, but not well\.$/m],
        code: 0,
      },
      {
        what: 'removes Authorization',
        body: 'location / { proxy_set_header Authorization ""; proxy_pass SERVER; }',
        says: [/^FAIL {2}health .*removes the header Authorization\.$/m],
        hint: 'nginx: proxy_set_header Authorization $http_authorization;',
        code: 1,
      },
      {
        what: 'changes signed headers',
        body: 'location / { client_max_body_size 0; proxy_request_buffering off; proxy_set_header x-amz-checksum-sha256 ""; proxy_pass SERVER; }',
        says: [/^FAIL {2}upload .*returned 403 \(SignatureDoesNotMatch\)\.$/m],
        hint: 'Does a proxy change path, headers or body?',
        code: 1,
      },
    ])('nginx that $what', ({ body, says, code, hint = '' }) => {
      const { check } = usePlace(nginx(body));

      it('is named by check, with what to change', async () => {
        const ended = await check('--size', '2MiB');
        expect(ended).toMatchObject({ code, err: expect.stringContaining(hint) });
        for (const line of says) expect(ended.out).toMatch(line);
      });
    });

    describe.each([
      { name: 'nginx', proxy: sharedNginx },
      { name: 'Caddy', proxy: { ...shippedCaddy, path: '/a/lfs' } },
    ])('$name that leads a path to it', ({ proxy }) => {
      const { place, push, check } = usePlace(proxy);

      it('passes check, and plain git-lfs', async () => {
        const { code, out, err } = await check('--size', '3MiB');
        expect({ code, err }).toEqual({ code: 0, err: '' });
        expect(out).toContain(`\n${place.server.url} works.\n`);
        expect(await push('below', 3 * megabyte)).toMatchObject({ code: 0 });
        await place.user.git(place.user.home, 'clone', '--quiet', place.remote, 'clone');
        expect((await readFiles(join(place.user.home, 'clone'))).get('below.bin')?.length).toBe(3 * megabyte);
      });

      it('lets git use the login of the command line, there alone', async () => {
        const { server, remote, token } = place;
        const ada = await GitUser.create();
        await ada.git(ada.home, 'config', '--global', 'credential.helper', '!false');
        const call = async (cwd: string, ...args: string[]) => {
          const piped = ['-c', 'printf %s "$INPUT" | "$@"', 'sh', process.execPath, program, ...args];
          const env = { ...gitEnvironment(ada.home), INPUT: token };
          const ended = await run('sh', piped, { cwd, env, timeoutMs: 60_000 });
          expect(ended.code, ended.err).toBe(0);
          return ended.out;
        };
        expect(await call(ada.home, 'login', server.url)).toContain('git     uses this login');
        await ada.git(ada.home, 'clone', '--quiet', remote, 'clone');
        const clone = join(ada.home, 'clone');
        await ada.commitFiles(clone, new Map([['login.bin', bytesOf(server.url, 10_000)]]), 'By the login');
        await ada.git(clone, 'push', '--quiet', 'origin', 'HEAD');
        await call(clone, 'connect', 'acme', 'game');
        await ada.commitFiles(clone, new Map([['more.bin', bytesOf('more', 10_000)]]), 'By the clone');
        await ada.git(clone, 'push', '--quiet', 'origin', 'HEAD');
        expect(await call(clone, 'repo', 'show')).toContain('game');
        const asked = `url=${new URL(server.url).origin}/other/app`;
        expect((await ada.paste(ada.home, [`echo ${asked} | git credential fill`])).out).not.toContain(
          'lfsq_',
        );
        await call(ada.home, 'logout', server.url);
        const kept = await ada.git(ada.home, 'config', '--global', '--list');
        expect(kept.out).not.toContain(server.url);
      });
    });

    describe('nginx that limits bodies to 100 MB', () => {
      const { check } = usePlace(limited());

      it('is named by check, with the way around it', async () => {
        const { code, out } = await check('--size', '3MiB');
        expect(code).toBe(0);
        expect(out).toMatch(/^warn {2}proxy .* 5 GiB got 413\. .*docs\/proxies\.md#below-a-proxys-limit$/m);
      });
    });

    describe('nginx that limits bodies to 100 MB, and --objects-url', () => {
      const { place, push, check } = usePlace(
        limited(({ server }) => ['--objects-url', `http://127.0.0.1:${server}`]),
      );

      it('passes a push and a clone of 300 MB by plain git-lfs, and check', async () => {
        const { code, out, err } = await check('--size', '120MB');
        expect({ code, err }).toEqual({ code: 0, err: '' });
        expect(out).toMatch(/^ok {4}proxy {5}fine$/m);
        expect(await push('large', 300 * megabyte)).toMatchObject({ code: 0 });
        await place.user.git(place.user.home, 'clone', '--quiet', place.remote, 'clone');
        expect(digests(await readFiles(join(place.user.home, 'clone')))).toEqual(
          digests(new Map([['large.bin', bytesOf('large', 300 * megabyte)]])),
        );
      });
    });

    describe('nginx that limits bodies to 100 MB, and --chunks-from', () => {
      const { place, push, check } = usePlace(limited(() => ['--chunks-from', '90MB']));

      it('passes check, and a push of 300 MB by the agent alone', async () => {
        const { code, out, err } = await check();
        expect({ code, err }).toEqual({ code: 0, err: '' });
        expect(out).toMatch(/^ok {4}proxy {5}fine$/m);
        const { user, workTree, server, token, remote } = place;
        const plain = await push('large', 300 * megabyte);
        expect(plain).toMatchObject({ code: 1, err: expect.stringContaining('lfs-quota connect acme game') });
        const env = { ...gitEnvironment(user.home), LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: token };
        const args = [program, 'connect', 'acme', 'game'];
        const connected = await run(process.execPath, args, { cwd: workTree, env, timeoutMs: 60_000 });
        expect(connected.code, connected.err).toBe(0);
        expect(await user.tryGit(workTree, ['push', 'origin', 'HEAD'])).toMatchObject({ code: 0 });
        expect(await push('next', 89 * megabyte)).toMatchObject({ code: 0 });
        await user.git(user.home, 'clone', '--quiet', remote, 'clone');
        const cloned = await readFiles(join(user.home, 'clone'));
        for (const [name, size] of [
          ['large', 300],
          ['next', 89],
        ] as const)
          expect(cloned.get(`${name}.bin`)?.equals(bytesOf(name, size * megabyte)), name).toBe(true);
      });
    });

    const cache =
      'proxy_cache c; proxy_cache_valid 200 1s; proxy_cache_revalidate on; proxy_ignore_headers Cache-Control; add_header x-cache $upstream_cache_status;';

    describe('nginx that caches and revalidates', () => {
      const { place, push } = usePlace(shippedNginx(cache, 'proxy_cache_path FOLDER/cache keys_zone=c:1m;'));

      it('answers a download from its cache, and asks whether it is still right', async () => {
        const content = bytesOf('cached', 3 * megabyte);
        expect(await push('cached', content.length)).toMatchObject({ code: 0 });
        const { user, remote, server, token, workTree } = place;
        const { out } = await user.git(workTree, 'lfs', 'ls-files', '--long');
        const oid = out.split(' ')[0];
        const answer = await fetch(`${server.url}/acme/game/info/lfs/objects/batch`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${token}`,
            accept: 'application/vnd.git-lfs+json',
            'content-type': 'application/vnd.git-lfs+json',
          },
          body: JSON.stringify({ operation: 'download', objects: [{ oid, size: content.length }] }),
        });
        const { objects } = (await answer.json()) as {
          objects: [{ actions: { download: { href: string } } }];
        };
        const found: [string | null, boolean][] = [];
        for (const waitMs of [0, 0, 2500]) {
          await sleep(waitMs);
          const response = await fetch(objects[0].actions.download.href);
          const isRight = Buffer.from(await response.arrayBuffer()).equals(content);
          found.push([response.headers.get('x-cache'), isRight]);
        }
        expect(found[0]).toEqual(['MISS', true]);
        // A busy machine takes longer than the second that it's fresh.
        expect(found[1]).toEqual([expect.stringMatching(/^(HIT|REVALIDATED)$/), true]);
        expect(found[2]).toEqual(['REVALIDATED', true]);
        await user.git(user.home, 'clone', '--quiet', remote, 'clone');
        const cloned = await readFiles(join(user.home, 'clone'));
        expect(cloned.get('cached.bin')?.equals(content)).toBe(true);
      });
    });

    describe.each([
      { name: 'nginx.conf', proxy: shippedNginx() },
      { name: 'Caddyfile', proxy: shippedCaddy },
    ])('packaging/$name', ({ proxy }) => {
      const { place, push, check } = usePlace(proxy);

      it('passes what check sends, and its temporary object is deleted', async () => {
        const { code, out, err } = await check();
        expect({ code, err }).toEqual({ code: 0, err: '' });
        expect(out).toMatch(/^ok {4}proxy {5}fine$/m);
        expect(out).toMatch(/^ok {4}upload {4}64 MiB$/m);
        expect(out).toMatch(/^ok {4}clean up {2}deleted /m);
        expect(out).toContain(`\n${place.server.url} works.\n`);
      });

      it('passes pushes and clones of any size', async () => {
        const files = new Map<string, Buffer>();
        for (const [name, sizeBytes] of [
          ['half', megabyte / 2],
          ['three', 3 * megabyte],
          ['seventy', 70 * megabyte],
        ] as const) {
          expect(await push(name, sizeBytes)).toMatchObject({ code: 0 });
          files.set(`${name}.bin`, bytesOf(name, sizeBytes));
        }
        const { user, remote } = place;
        await user.git(user.home, 'clone', '--quiet', remote, 'clone');
        expect(digests(await readFiles(join(user.home, 'clone')))).toEqual(digests(files));
      });

      it('lets a push wait while the server restarts', async () => {
        await place.server.killServer();
        const pushing = push('waits', 1000);
        await sleep(1000);
        await place.server.startServer();
        expect(await pushing).toMatchObject({ code: 0 });
      });

      it('lets a push go on whose server is killed during an upload', async () => {
        const { server } = place;
        // On a busy machine, an upload can end before the server does: then another one.
        for (let [turn, wasCut] = [0, false]; !wasCut; turn += 1) {
          let isOver = false;
          const pushing = push(`killed-${turn}`, 70 * megabyte).finally(() => {
            isOver = true;
          });
          while (server.uploads().length === 0 && !isOver) await sleep(1);
          await server.killServer();
          wasCut = server.uploads().length > 0;
          await sleep(1000);
          await server.startServer();
          expect(await pushing).toMatchObject({ code: 0 });
        }
        expect((await place.user.git(place.workTree, 'lfs', 'fsck')).code).toBe(0);
        await place.user.git(place.user.home, 'clone', '--quiet', place.remote, 'after');
      });
    });
  },
);
