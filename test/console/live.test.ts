import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { jsonOf, type TestTenant } from '../blackbox/api.ts';
import { describeWith } from '../support/describe-with.ts';
import { GitUser } from '../support/git-user.ts';
import { gitEnvironment, plainEnvironment, run, signalGroup } from '../support/process.ts';
import { describeInBrowser, watch } from './browser.ts';
import { type ConsoleFixture, startConsole } from './fixture.ts';
import { signIn } from './sign-in.ts';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));
const mib = 1024 ** 2;
const plain = (text: string | null) => (text ?? '').replaceAll('\u00a0', ' ');

interface Subscription {
  usage: { storedBytes: number; reservedBytes: number };
  repos: { repo: string; deleting?: true }[];
}

/** Tests in a browser with the real client. Without one of them they fail in CI, and are skipped elsewhere. */
function describeWithGitLfs(title: string, body: (launch: () => Promise<Browser>) => void): void {
  const found = spawnSync('git', ['lfs', 'version']).status === 0 || undefined;
  const missing = 'git-lfs is not installed. On Debian: apt-get install git-lfs';
  describeWith({ title, found, missing }, () => describeInBrowser('in a browser', body));
}

describeWithGitLfs('without a reload', (launch) => {
  let browser: Browser;
  let fixture: ConsoleFixture;
  let page: Page;
  let messages: readonly string[];
  let ada: GitUser;
  let tenant: TestTenant;

  // A delete of what was pushed just now waits until its URLs cannot bring it back.
  beforeAll(async () => {
    [browser, fixture] = await Promise.all([
      launch(),
      startConsole({
        settings: { urlLifetimeMs: 30_000, reservationSlackMs: 1000, putGraceMs: 5_000, clockSkewMs: 100 },
        // As `npm start` has it.
        queueTiming: {},
      }),
    ]);
    tenant = await fixture.api.newTenant({ limitBytes: 400 * mib });
    ada = await GitUser.create({ url: fixture.stack.url, token: tenant.writeToken });
    page = await browser.newPage();
    ({ messages } = await watch(page));
    await signIn(page, fixture.stack.url, tenant.readToken);
    await page.goto(fixture.stack.url);
    await page.getByText('Waiting for the first push').waitFor();
    // From then on it is not asked by a new page.
    await page.evaluate('window.isFirstLoad = true');
  });
  afterAll(async () => {
    await browser?.close();
    await ada?.close();
    await fixture?.close();
  });

  const read = async () =>
    jsonOf(await fixture.api.manage('GET', `/v1/tenants/${tenant.tenant}/subscription`)) as Subscription;
  const legend = async (index: number) =>
    plain(await page.locator('.legend .value').nth(index).textContent({ timeout: 1000 }));
  /** Until the API says so. */
  async function until(holds: (body: Subscription) => boolean): Promise<void> {
    const giveUpMs = performance.now() + 120_000;
    while (!holds(await read())) {
      if (performance.now() > giveUpMs) throw new Error('It did not come to that.');
      await sleep(50);
    }
  }

  describe('a push of the real git-lfs is seen as reserved within 10 s, and as stored within 30 s of its last PUT', () => {
    it('shows both', async () => {
      const remote = await ada.createRemote('game');
      const lfsUrl = `${fixture.stack.url}/${tenant.tenant}/game/info/lfs`;
      const workTree = await ada.createWorkTree('work', { remote, lfsUrl });
      for (let index = 0; index < 8; index += 1)
        await writeFile(join(workTree, `level-${index}.bin`), randomBytes(12 * mib));
      await ada.git(workTree, 'config', 'lfs.concurrenttransfers', '1');
      await ada.commitAll(workTree, 'Levels');
      const pushing = spawn('git', ['push', '--quiet', 'origin', 'main'], {
        cwd: workTree,
        env: gitEnvironment(ada.home),
        detached: true,
        stdio: 'ignore',
      });
      const ended = new Promise<number | null>((resolve) => pushing.once('close', resolve));
      // It is admitted, and stands still before all of it is there: so there is time to look.
      await until(({ usage }) => usage.reservedBytes > 0);
      signalGroup(pushing.pid, 'SIGSTOP');
      try {
        await expect
          .poll(() => legend(1).catch(() => ''), { timeout: 10_000, interval: 100 })
          .not.toMatch(/^(0 B)?$/);
        await page.getByText('1 upload in progress').waitFor({ timeout: 10_000 });
      } finally {
        signalGroup(pushing.pid, 'SIGCONT');
      }
      expect(await ended).toBe(0);
      const stored = formatBytes(96 * mib);
      await expect.poll(() => legend(0), { timeout: 30_000, interval: 100 }).toBe(stored);
      expect((await read()).usage.storedBytes).toBe(96 * mib);
      expect(await page.locator('table.repos tbody tr').first().textContent()).toContain('game');
      expect(await page.evaluate('window.isFirstLoad')).toBe(true);
      expect(messages).toEqual([]);
    }, 180_000);
  });

  describe('a delete from elsewhere is seen as marked within 10 s, and as freed within 30 s of its end', () => {
    it('shows both', async () => {
      const answer = await fixture.api.manage('DELETE', `/v1/tenants/${tenant.tenant}/repos/game`);
      expect(answer.status, answer.text).toBe(202);
      await page.getByText('being deleted').waitFor({ timeout: 10_000 });
      await until(({ usage, repos }) => usage.storedBytes === 0 && repos.every(({ deleting }) => !deleting));
      await expect.poll(() => legend(0), { timeout: 30_000, interval: 100 }).toBe('0 B');
      await page.getByText('being deleted').waitFor({ state: 'detached', timeout: 30_000 });
      expect(await page.evaluate('window.isFirstLoad')).toBe(true);
      expect(messages).toEqual([]);
    }, 180_000);
  });
});

describeWithGitLfs('somebody who follows the page alone', (launch) => {
  let browser: Browser;
  let folder: string;
  let ada: GitUser;
  let stop: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    browser = await launch();
    folder = await mkdtemp(join(tmpdir(), 'lfs-quota-first-'));
    ada = await GitUser.create();
  });
  afterAll(async () => {
    await browser?.close();
    await stop?.();
    await ada?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('sees first bytes in less than 3 minutes from npm ci on', async () => {
    const checkout = join(folder, 'lfs-quota');
    await checkOut(checkout);
    // What somebody has who comes here: a repository with a large file, and where to push it.
    const remote = await ada.createRemote('art');
    const clone = join(ada.home, 'art');
    await mkdir(clone);
    await ada.paste(clone, ['git init --quiet', `git remote add origin '${remote}'`]);
    await writeFile(join(clone, 'hero.psd'), randomBytes(3 * mib));

    const beganMs = performance.now();
    const env = { ...plainEnvironment(), HOME: folder };
    const installed = await run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund'], {
      cwd: checkout,
      env,
      timeoutMs: 170_000,
    });
    expect(installed.code, installed.err).toBe(0);
    const started = await startStack(checkout, env);
    ({ stop } = started);
    // It prints where the page is, and where the token lies.
    const { url, token } = started;

    const page = await browser.newPage();
    await page.goto(url);
    await page.getByLabel('Access token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Connect a repository' }).waitFor();
    await page.getByLabel('Repo name').fill('art');
    const commands = (await page.locator('.steps pre').allTextContents()).flatMap((text) => text.split('\n'));
    expect(commands).toContain(`git config -f .lfsconfig lfs.url ${url}/demo/art/info/lfs`);

    // Where git asks for a password, the token is pasted.
    const paste = join(ada.home, 'paste');
    await writeFile(paste, `#!/bin/sh\necho '${token}'\n`);
    await chmod(paste, 0o700);
    const pushed = await ada.paste(clone, [`export GIT_ASKPASS='${paste}'`, ...commands]);
    expect(pushed.code, `${pushed.out}\n${pushed.err}`).toBe(0);

    await expect
      .poll(async () => plain(await page.locator('.legend .value').first().textContent()), {
        timeout: 30_000,
      })
      .toBe('3 MiB');
    expect(await page.locator('table.repos tbody tr').first().textContent()).toMatch(/^art/);
    const seconds = (performance.now() - beganMs) / 1000;
    expect(seconds).toBeLessThan(180);
  }, 300_000);
});

/** What git has of this folder, as it is now: without what is installed or built. */
async function checkOut(to: string): Promise<void> {
  const listed = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: projectRoot,
    env: { ...plainEnvironment(), HOME: to },
    timeoutMs: 30_000,
  });
  const names = listed.out.split('\0').filter((name) => name !== '' && !/^(docs|test|bench)\//.test(name));
  expect(names.length, listed.err).toBeGreaterThan(100);
  for (const name of names) await cp(join(projectRoot, name), join(to, name), { recursive: true });
}

/** `npm start`, and what it prints. */
async function startStack(cwd: string, env: Record<string, string>) {
  const port = 20_000 + Math.floor(Math.random() * 20_000) * 2;
  const child = spawn('npm', ['start', '--', '--port', String(port)], { cwd, env, detached: true });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let out = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
  const stop = async () => {
    signalGroup(child.pid, 'SIGINT');
    await Promise.race([closed, sleep(20_000, undefined, { ref: false })]);
    signalGroup(child.pid, 'SIGKILL');
    await closed;
  };
  const giveUpMs = performance.now() + 60_000;
  while (!/^ready /m.test(out)) {
    if (child.exitCode !== null || performance.now() > giveUpMs) {
      await stop();
      throw new Error(`npm start did not become ready:\n${out}`);
    }
    await sleep(50);
  }
  const file = /write token is in (.+)$/m.exec(out)?.[1];
  if (file === undefined)
    throw new Error(`It does not say where the token is:
${out}`);
  const token = new URL((await readFile(file, 'utf8')).trim()).password;
  return { url: /^ready (\S+)/m.exec(out)?.[1] ?? '', token, stop };
}
