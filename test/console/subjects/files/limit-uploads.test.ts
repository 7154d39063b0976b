import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type EmbeddedStack, startEmbeddedStack } from '../../../../local/start.ts';
import { describeWith } from '../../../support/describe-with.ts';
import { type DocBlock, docBlocks } from '../../../support/doc-blocks.ts';
import { freePort } from '../../../support/free-port.ts';
import { plainEnvironment, run, runningGroups, signalGroup } from '../../../support/process.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { serve } from '../../../support/serve.ts';
import { describeInBrowser } from '../../browser.ts';

const { EXAMPLES_MODULES: modules, EXAMPLES_PYTHON: python } = process.env;
const goCache = spawnSync('go', ['env', 'GOCACHE'], { encoding: 'utf8' }).stdout?.trim();
const found = modules && python && goCache ? { modules, python, goCache } : undefined;
const missing = 'Express, Flask or Go is missing. Run: .ci/examples.sh run -- npm run test:console';

const blocks = docBlocks('docs/limit-uploads.md');
/** What the reader installs is there, in the versions of .ci/examples.sh. */
const isInstall = (line: string) => /^(?:npm|python3 -m venv) /.test(line);
const startsServer = ({ language, text }: DocBlock) => language === 'sh' && /^(?:node|flask|go) /.test(text);
/** What the reader pastes below a heading. */
const pasted = (heading: string) =>
  blocks
    .filter((block) => block.heading === heading && block.language === 'sh' && !startsServer(block))
    .map(({ text }) => text);

/** A reader's shell: what it sets, and where it is, stays from one paste to the next. */
interface Shell {
  env: Record<string, string>;
  cwd: string;
  /** @returns what was printed. */
  paste(text: string): Promise<string>;
}

function shellIn(cwd: string, env: Record<string, string>, here: (text: string) => string): Shell {
  const shell: Shell = {
    env,
    cwd,
    async paste(text) {
      const lines = here(text)
        .split('\n')
        .filter((line) => !isInstall(line));
      const script = `set -ae -o pipefail\n${lines.join('\n')}\nprintf '\\0'; env -0`;
      const ended = await run('bash', ['-c', script], { cwd: shell.cwd, env: shell.env, timeoutMs: 60_000 });
      expect(ended.code, `${text}\n${ended.out}\n${ended.err}`).toBe(0);
      const [printed = '', ...variables] = ended.out.split('\0');
      shell.env = Object.fromEntries(
        variables
          .filter((each) => each.includes('='))
          .map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
      );
      shell.cwd = shell.env['PWD'] ?? cwd;
      return printed;
    },
  };
  return shell;
}

/** Starts what a block runs, and ends it with all that it has started. */
async function serving(
  { cwd, env }: Omit<Shell, 'paste'>,
  command: string,
  url: string,
): Promise<() => Promise<void>> {
  const child = spawn('bash', ['-c', command], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) runningGroups.add(child.pid);
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (printed: string) => {
      log += printed;
    });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const stop = async () => {
    signalGroup(child.pid, 'SIGKILL');
    await closed;
    if (child.pid !== undefined) runningGroups.delete(child.pid);
  };
  // Go compiles it first.
  const giveUpMs = performance.now() + 120_000;
  while (
    !(await fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null || performance.now() > giveUpMs) {
      await stop();
      throw new Error(`${command} doesn't serve ${url}:\n${log}`);
    }
    await sleep(50);
  }
  return stop;
}

const express = { title: 'Express', heading: 'Ask before each upload', language: 'mjs' };
const examples = [
  express,
  { title: 'Flask', heading: 'Flask', language: 'python' },
  { title: 'Go', heading: 'Go', language: 'go' },
];
type Example = typeof express;

const said = (page: Page, what: string | RegExp) =>
  expect.poll(() => page.locator('output').textContent(), { timeout: 60_000 }).toMatch(what);

async function choose(page: Page, file: string, what: RegExp): Promise<void> {
  await page.locator('input').setInputFiles(file);
  await said(page, what);
}

/** What a page sends, by a slow connection, and where its bar is meanwhile. */
async function watchUploads(page: Page) {
  const seen: { progress: number[]; puts: string[] } = { progress: [], puts: [] };
  page.on('request', (request) => request.method() === 'PUT' && seen.puts.push(request.url()));
  await page.exposeFunction('noteProgress', (value: number) => seen.progress.push(value));
  await page.addInitScript(`
    new MutationObserver(([{ target }]) => window.noteProgress(target.value))
      .observe(document, { subtree: true, attributeFilter: ['value'] });
  `);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 6_000_000 };
  await devtools.send('Network.emulateNetworkConditions', slow);
  return seen;
}

/** The API, which checks usage before it answers the next request if it `isBusy`. */
async function apiBefore(origin: string) {
  const api = { url: '', isBusy: false };
  api.url = await serve(async (request, response) => {
    const type = { 'content-type': 'application/json' };
    const body = await text(request);
    if (api.isBusy) {
      api.isBusy = false;
      response.writeHead(429, { ...type, 'retry-after': '1' }).end('{}');
      return;
    }
    const headers = { ...type, authorization: request.headers.authorization ?? '' };
    const answer = await fetch(origin + request.url, { method: 'POST', headers, body });
    response.writeHead(answer.status, type).end(await answer.text());
  });
  return api;
}

const byteCount = async (response: Response) => (await response.arrayBuffer()).byteLength;

const sizeBytes = 3_000_000;
const widthPixels = 1000;

/** A bitmap. @returns its path. */
async function photo(folder: string, name: string): Promise<string> {
  const bytes = randomBytes(sizeBytes);
  bytes.write('BM');
  // Size of the file, nothing, where the pixels begin, size of this header, width, height, planes and bits of a pixel, not packed.
  const header = [sizeBytes, 0, 54, 40, widthPixels, 999, 1 + (24 << 16), 0, 0, 0, 0, 0, 0];
  for (const [index, value] of header.entries()) bytes.writeUInt32LE(value, 2 + 4 * index);
  const file = join(folder, name);
  await writeFile(file, bytes);
  return file;
}

describeWith({ title: 'docs/limit-uploads.md, as it stands', found, missing }, (engines) =>
  describeInBrowser('in a browser', (launch) => {
    let browser: Browser;
    let stack: EmbeddedStack;
    let folder: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'lfs-quota-uploads-'));
      const adminToken = 'admin-token-of-the-examples';
      const dataDir = join(folder, '.lfs-quota');
      const { log } = recordingLog();
      const options = { port: 0, dataDir, adminToken, createDemo: false, log };
      [browser, stack] = await Promise.all([launch(), startEmbeddedStack(options)]);
      await writeFile(join(dataDir, 'admin-token'), adminToken);
    });
    afterAll(async () => {
      await browser?.close();
      await stack?.close();
      await rm(folder, { recursive: true, force: true });
    });

    /** What a reader has who came as far as the command that starts the app. */
    async function appOf({ heading, language }: Example) {
      // What is tried again has another one.
      const tenant = `acme-${randomBytes(4).toString('hex')}`;
      const port = await freePort();
      const here = (text: string) =>
        text
          .replaceAll('http://127.0.0.1:8787', stack.url)
          .replaceAll('PORT=3000', `PORT=${port}`)
          .replaceAll('acme', tenant);
      const home = join(folder, tenant);
      await mkdir(home);
      await symlink(join(folder, '.lfs-quota'), join(home, '.lfs-quota'));
      const PATH = `${engines.python}:${process.env['PATH']}`;
      const env = { ...plainEnvironment(), PATH, HOME: home, GOCACHE: engines.goCache };
      const shell = shellIn(home, env, here);
      for (const text of [...pasted('Create a customer'), ...pasted('Ask before each upload')])
        await shell.paste(text);
      await symlink(engines.modules, join(shell.cwd, 'node_modules'));
      for (const each of blocks.filter((block) => [language, 'html'].includes(block.language))) {
        const [, name = ''] = /^\S+ (\S+)/.exec(each.text) ?? [];
        await writeFile(join(shell.cwd, name), here(each.text));
      }
      const command = blocks.find((block) => block.heading === heading && startsServer(block));
      return { shell, url: `http://127.0.0.1:${port}/`, command: command?.text ?? '' };
    }

    it.each(examples)(
      '$title: a photo is stored, the next one refused, and fits once the first is deleted',
      async (example) => {
        const { shell, url, command } = await appOf(example);
        const api = await apiBefore(stack.url);
        const stop = await serving({ ...shell, env: { ...shell.env, LFS: api.url } }, command, url);
        const page = await browser.newPage();
        try {
          const seen = await watchUploads(page);
          await page.goto(url);
          await choose(page, await photo(shell.cwd, 'cat.bmp'), /^Stored as photos\/[\w-]{32,36}$/);
          // The first is 0, when the file is chosen.
          expect(seen.progress.at(-1)).toBe(1);
          expect(seen.progress.filter((value) => value > 0 && value < 1)).not.toEqual([]);

          const refused = await photo(shell.cwd, 'dog.bmp');
          await choose(page, refused, /^It doesn't fit: 1000000 bytes too many\.$/);
          expect(seen.puts).toHaveLength(1);

          const [look = '', remove = '', raise = ''] = pasted('List, download and delete');
          const link = (await shell.paste(look)).trim().split('\n').at(-1) ?? '';
          const download = await fetch(link);
          expect(download.headers.get('content-disposition')).toContain('cat.png');
          expect(await byteCount(download)).toBe(sizeBytes);
          const shown = `Object.assign(new Image(), { src: '${link}' })`;
          expect(
            await page.evaluate(`(async (image) => { await image.decode(); return image.width; })(${shown})`),
          ).toBe(widthPixels);
          expect(JSON.parse(await shell.paste(remove))).toMatchObject({ bytes: sizeBytes });
          await choose(page, refused, /^Stored as /);
          // An empty object is there, for as long as an upload could bring the file back.
          expect(await byteCount(await fetch(link))).toBe(0);
          expect(seen.puts).toHaveLength(2);
          expect(JSON.parse(await shell.paste(raise))).toMatchObject({ limitBytes: 50_000_000 });

          api.isBusy = true;
          await page.locator('input').setInputFiles(await photo(shell.cwd, 'cow.bmp'));
          await said(page, 'Checking your space: 1 s');
          await said(page, /^Stored as /);
        } finally {
          await page.close();
          await stop();
        }
      },
      180_000,
    );

    it('an upload that breaks off reserves its space until it is canceled', async () => {
      const { shell, url, command } = await appOf(express);
      const stop = await serving(shell, command, url);
      const page = await browser.newPage();
      try {
        await page.goto(url);
        await page.route('**', (route) =>
          route.request().method() === 'PUT' ? route.abort() : route.continue(),
        );
        const asked = page.waitForResponse(`${url}uploads`);
        const cat = await photo(shell.cwd, 'cat.bmp');
        await choose(page, cat, /^The connection broke\.$/);
        const { uploadId } = await (await asked).json();
        await page.unrouteAll();
        await choose(page, cat, /too many\. Uploads in progress reserve 3000000 bytes, until \d+:\d\d:\d\d/);

        const media = '$LFS/v1/tenants/acme/repos/media';
        const cancel = `curl -fsS -X DELETE ${media}/uploads/${uploadId} -H "Authorization: Bearer $LFS_TOKEN"`;
        expect(JSON.parse(await shell.paste(cancel))).toMatchObject({ bytes: sizeBytes });
        const chosenAgain = async () => {
          await choose(page, cat, /^(?:Stored|It doesn't fit)/);
          return page.locator('output').textContent();
        };
        await expect.poll(chosenAgain, { timeout: 60_000, interval: 500 }).toMatch(/^Stored as /);
      } finally {
        await page.close();
        await stop();
      }
    }, 180_000);
  }),
);
