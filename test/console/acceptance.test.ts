import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { bearer, jsonOf, type TestTenant } from '../blackbox/api.ts';
import { admitted, ask, objectOf, push } from '../blackbox/lfs.ts';
import { plainEnvironment, run } from '../support/process.ts';
import { describeInBrowser } from './browser.ts';
import { NewPages } from './new-pages.ts';

const projectRoot = fileURLToPath(new URL('../..', import.meta.url));
const plain = (text: string | null) => (text ?? '').replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').trim();

interface Subscription {
  limitBytes: number;
  usage: { storedBytes: number; reservedBytes: number };
  repos: { repo: string; storedBytes: number }[];
}

describeInBrowser('what the console promises', (launch) => {
  const at = new NewPages(launch);
  const subscriptionOf = async (tenant: string, query = '') =>
    jsonOf(await at.fixture.api.manage('GET', `/v1/tenants/${tenant}/subscription${query}`)) as Subscription;
  /** Has the API answer the subscription otherwise. */
  const answerWith = (change: (body: Subscription) => object, status = 200) =>
    at.page.route('**/subscription*', async (route) => {
      const { 'if-none-match': _known, ...headers } = route.request().headers();
      const body = (await (await route.fetch({ headers })).json()) as Subscription;
      await route.fulfill({ status, json: change(body) });
    });
  const linesOf = async (name: string) => {
    const [download] = await Promise.all([
      at.page.waitForEvent('download'),
      at.page.getByRole('button', { name: `${name} as CSV`, exact: true }).click(),
    ]);
    return readFileSync(await download.path(), 'utf8')
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',').map((cell) => cell.replaceAll('"', '')));
  };

  describe('stored, reserved, limit and percent are the same in the console, the command line, the API and a refusal', () => {
    /** Values that stay: what is stored, and an upload that was admitted and does not come. */
    async function randomTenant(): Promise<TestTenant> {
      const [stored, reserved] = [randomInt(1024, 3_000_000), randomInt(1024, 3_000_000)];
      const limitBytes = stored + reserved + randomInt(0, 200_000);
      const tenant = await at.fixture.api.newTenant({ limitBytes });
      const place = { ...tenant, repo: 'game' };
      await push(at.fixture.api, place, [objectOf(stored)]);
      await admitted(at.fixture.api, place, objectOf(reserved));
      await subscriptionOf(tenant.tenant, '?refresh=true');
      return tenant;
    }

    it.each([1, 2, 3, 4])(
      'for random values, %d',
      async () => {
        const tenant = await randomTenant();
        const { usage, limitBytes } = await subscriptionOf(tenant.tenant);
        const [stored, reserved, limit] = [usage.storedBytes, usage.reservedBytes, limitBytes].map(
          formatBytes,
        );

        const { error } = await ask(at.fixture.api, { ...tenant, repo: 'game' }, 'upload', {
          oid: 'ab'.repeat(32),
          size: limitBytes + 1,
        });
        const used = formatBytes(usage.storedBytes + usage.reservedBytes);
        expect(error?.message).toContain(
          `${tenant.tenant} uses ${used} of ${limit} (${stored} stored, ${reserved} uploading).`,
        );
        // A reconcile that met what is refused takes it for reserved until the next one, which is a minute later.
        await expect
          .poll(async () => (await subscriptionOf(tenant.tenant)).usage, { timeout: 120_000, interval: 300 })
          .toMatchObject({ storedBytes: usage.storedBytes, reservedBytes: usage.reservedBytes });

        const { code, out, err } = await run(
          process.execPath,
          [`${projectRoot}bin/lfs-quota.js`, 'usage', tenant.tenant],
          {
            cwd: projectRoot,
            env: {
              ...plainEnvironment(),
              LFS_QUOTA_URL: at.fixture.stack.url,
              LFS_QUOTA_TOKEN: tenant.readToken,
            },
            timeoutMs: 30_000,
          },
        );
        expect(code, err).toBe(0);
        expect(out).toContain(`\nstored    ${stored} in 1 object\n`);
        expect(out).toContain(`\nreserved  ${reserved} (`);
        expect(out).toContain(`\nlimit     ${limit}\n`);
        const percent = /\]\s+([\d.]+)% of /.exec(out)?.[1];

        await at.open(tenant.readToken);
        await at.page.getByText('from the bucket').waitFor();
        expect(plain(await at.page.locator('.figure').textContent())).toBe(`${used} of ${limit}${percent} %`);
        const values = await at.page.locator('.legend .value').allTextContents();
        expect(values.slice(0, 2).map(plain)).toEqual([stored, reserved]);
        await at.page.locator('.uploads summary').click();
        const rows = (await linesOf('reservations')).filter(([, , arrived]) => arrived === 'false');
        expect(rows.map(([repo, , , objects, bytes]) => [repo, objects, Number(bytes)])).toEqual([
          ['game', '1', usage.reservedBytes],
        ]);
        expect(at.messages).toEqual([]);
      },
      180_000,
    );
  });

  describe('every figure has its age and its source, an old value stays while it is counted, and never counted is never 0', () => {
    it.each([1180, 390, 320])('says the age of the total and of each object, %d px wide', async (width) => {
      await at.page.setViewportSize({ width, height: 900 });
      await at.open(at.fixture.usual.manageToken);
      await at.page.getByText(/Updated .*from the bucket's own listing/).waitFor();
      const age = /\d+ (s|min|h|days) ago|just now/;
      await at.page.goto(`${at.fixture.stack.url}/#northlight/objects`);
      const rows = at.page.locator('tbody tr');
      await expect.poll(() => rows.count()).toBe(12);
      for (const row of await rows.all()) expect(await row.innerText()).toMatch(age);
    });

    it.each([1180, 390, 320])('says the age of the figures of each tenant, %d px wide', async (width) => {
      await at.page.setViewportSize({ width, height: 900 });
      await at.open(at.fixture.api.target.adminToken);
      await at.page.getByRole('link', { name: 'northlight' }).waitFor();
      for (const row of await at.page.locator('table.tenants tbody tr').all())
        expect(await row.innerText()).toMatch(/\d+ (s|min|h|days) ago|just now/);
    });

    it('keeps the old value while it is counted', async () => {
      await at.open(at.fixture.usual.manageToken);
      await at.page.getByText('from the bucket').waitFor();
      const before = await at.page.locator('.figure').innerText();
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await at.page.route('**/subscription?refresh=true', async (route) => {
        await held;
        await route.continue();
      });
      await at.page.getByRole('button', { name: 'Scan now' }).click();
      await at.page.getByText('Scanning').first().waitFor();
      expect(await at.page.getByRole('progressbar', { name: 'Scan' }).count()).toBe(1);
      expect(await at.page.locator('.figure').innerText()).toBe(before);
      release();
      await at.page.getByText('from the bucket').waitFor();
      expect(await at.page.locator('.figure').innerText()).toBe(before);
    });

    it('shows no figure for what was never counted', async () => {
      await answerWith((body) => ({ ...body, usage: null, repos: [], refreshing: true }), 202);
      await at.open(at.fixture.usual.readToken);
      await at.page.getByText('Calculating usage…').waitFor();
      await at.page.waitForLoadState('load');
      const usage = await at.page.locator('.usage').innerText();
      expect(plain(usage)).toMatch(/limit 2.38 MiB/);
      expect(plain(usage.replace(/limit.*/, ''))).not.toMatch(/\d/);
    });
  });

  describe('all repos are listed, and their sum is the total, or the page says why it is not', () => {
    it('lists 500', async () => {
      const tenant = await at.fixture.api.newTenant({ limitBytes: 10_000_000 });
      const names = Array.from({ length: 500 }, (_, index) => `repo-${index}`);
      for (let first = 0; first < names.length; first += 10)
        await Promise.all(
          names
            .slice(first, first + 10)
            .map((repo, index) =>
              push(at.fixture.api, { ...tenant, repo }, [objectOf(1 + ((first + index) % 97))]),
            ),
        );
      // A refresh may be answered by a scan that had begun before the last push.
      await subscriptionOf(tenant.tenant, '?refresh=true');
      const { usage, repos } = await subscriptionOf(tenant.tenant, '?refresh=true');
      expect(repos.length).toBe(500);
      await at.open(tenant.readToken, `#${tenant.tenant}/repos`);
      await at.page.getByText(`all 500, together`).waitFor();
      const total = formatBytes(usage.storedBytes);
      expect(plain(await at.page.locator('.title .note').first().textContent())).toBe(
        `all 500, together ${total}`,
      );
      await at.page.getByText('1–10 of 500').waitFor();
      const lines = await linesOf('repos');
      expect(lines.map(([repo]) => repo).sort()).toEqual([...names].sort());
      expect(lines.reduce((sum, [, bytes]) => sum + Number(bytes), 0)).toBe(usage.storedBytes);
      expect(at.messages).toEqual([]);
    }, 180_000);

    it('says why there are less', async () => {
      const { token } = await at.fixture.api.newToken('northlight', {
        scope: 'read',
        repos: ['fonts', 'ui-kit'],
      });
      await at.open(token, '#northlight/repos');
      await at.page.getByText(/all 2 of your token, together 66.KiB of 1.89.MiB in all/).waitFor();
    });

    it('says that some are not scanned yet', async () => {
      const unscanned = { storedBytes: null, objectCount: null, scannedAt: null };
      const without = <Repo extends { repo: string }>(repo: Repo) =>
        repo.repo === 'fonts' ? { ...repo, ...unscanned } : repo;
      await answerWith(({ repos, ...body }) => ({ ...body, repos: repos.map(without) }));
      await at.page.route('**/v1/tenants/northlight/repos?*', async (route) => {
        const { repos, ...page } = (await (await route.fetch()).json()) as { repos: { repo: string }[] };
        await route.fulfill({ json: { ...page, repos: repos.map(without) } });
      });
      const listed = at.page.waitForResponse('**/v1/tenants/northlight/repos?*');
      await at.open(at.fixture.usual.readToken, '#northlight/repos');
      await (await listed).finished();
      await at.page.getByText(/all 10, together .* of 1.89.MiB in all: 1 not scanned yet/).waitFor();
    });
  });

  describe('it is never 100 % but for what is exactly full, and over the limit it says by how much, and that downloads go on', () => {
    const withFree = async (freeBytes: number) => {
      const { usage } = await subscriptionOf('northlight');
      await answerWith((body) => ({
        ...body,
        limitBytes: usage.storedBytes + freeBytes,
        usage: { ...body.usage, reservedBytes: 0, reservedUntil: null },
      }));
      await at.open(at.fixture.usual.readToken);
      await at.page.getByText('from the bucket').waitFor();
      return plain(await at.page.locator('.figure strong').textContent());
    };
    it('one byte below', async () => {
      expect(await withFree(1)).toBe('99.9 %');
      expect(plain(await at.page.locator('.notice.near').innerText())).toMatch(
        /^1 B left\. .*Then uploads are rejected; downloads still work\./,
      );
    });
    it('exactly full', async () => {
      expect(await withFree(0)).toBe('100 %');
      expect(plain(await at.page.locator('.notice.over').innerText())).toMatch(
        /^No space left\. Uploads are rejected; downloads still work\./,
      );
    });
    it('one byte over, and more', async () => {
      expect(await withFree(-1)).toBe('100.1 %');
      expect(plain(await at.page.locator('.notice.over').innerText())).toContain(
        'northlight uses 1 B more than its limit',
      );
      await at.page.unroute('**/subscription*');
      expect(await withFree(-12_345)).toMatch(/^100\.\d %$/);
      expect(plain(await at.page.locator('.notice.over').innerText())).toContain('uses 12.06 KiB more');
      expect(await at.page.locator('.notice .actions').textContent()).toBe('Ask your admin for more space.');
    });
  });

  describe('the chart has the numbers of its table and of its CSV', () => {
    it('on 120 random days', async () => {
      const days = Array.from({ length: 120 }, (_, index) => ({
        day: new Date(Date.UTC(2026, 5, 1 + index)).toISOString().slice(0, 10),
        storedBytes: randomInt(0, 2 ** 47),
        objectCount: randomInt(0, 1e9),
        maxStoredBytes: 2 ** 47,
        maxUsedBytes: 2 ** 47,
        limitBytes: randomInt(0, 2) === 0 ? null : randomInt(0, 2 ** 47),
        refusals: randomInt(0, 9),
        repoRefusals: randomInt(0, 3),
        downloads: null,
        carried: false,
      }));
      await at.page.route('**/history*', async (route) => {
        const body = (await (await route.fetch()).json()) as object;
        await route.fulfill({ json: { ...body, days } });
      });
      await at.open(at.fixture.usual.readToken);
      await at.page.getByText('Show as table').first().click();
      const rows = at.page.getByRole('region', { name: 'Days' }).locator('tbody tr');
      await expect.poll(() => rows.count()).toBe(120);
      const lines = (await linesOf('history')).reverse();
      for (const [index, row] of (await rows.all()).entries()) {
        const [day, stored, objects, , most, limit, refused, repoRefused] = lines[index] ?? [];
        const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
        expect((await row.locator('th, td').allTextContents()).map(plain)).toEqual([
          date.format(new Date(`${day}T12:00:00`)),
          formatBytes(Number(stored)),
          Number(objects).toLocaleString('en-US'),
          formatBytes(Number(most)),
          limit === '' ? '–' : formatBytes(Number(limit)),
          String(Number(refused) + Number(repoRefused)),
        ]);
      }
      expect(lines.map(([day, stored]) => [day, Number(stored)])).toEqual(
        [...days].reverse().map(({ day, storedBytes }) => [day, storedBytes]),
      );
      const reader = at.page.getByLabel('Chart day');
      for (const [presses, key] of [
        [0, 'End'],
        [3, 'ArrowLeft'],
        [1, 'Home'],
      ] as const) {
        if (presses === 0) await reader.press(key);
        for (let press = 0; press < presses; press += 1) await reader.press(key);
        const day = days[Number(await reader.inputValue())];
        await expect
          .poll(async () => plain(await reader.getAttribute('aria-valuetext')))
          .toContain(`: ${formatBytes(day?.storedBytes ?? -1)} stored, `);
      }
      expect(at.messages).toEqual([]);
    });
  });

  describe('nothing is asked of another host, and the policy lets nothing else run', () => {
    it('sends the policy, and the browser keeps to it', async () => {
      const asked = new Set<string>();
      at.page.on('request', (request) => asked.add(new URL(request.url()).origin));
      const answer = await at.page.goto(at.fixture.stack.url);
      await at.page.getByLabel('Access token').waitFor();
      expect(await answer?.headerValue('content-security-policy')).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; " +
          "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
          "require-trusted-types-for 'script'; trusted-types 'none'",
      );
      expect(await answer?.headerValue('x-content-type-options')).toBe('nosniff');
      expect(await answer?.headerValue('referrer-policy')).toBe('no-referrer');
      expect(await answer?.headerValue('cross-origin-opener-policy')).toBe('same-origin');
      const outcome = (script: string) =>
        at.page.evaluate(
          `(() => { try { ${script}; return 'done'; } catch (error) { return error.name; } })()`,
        );
      expect(await outcome("document.body.innerHTML = '<p>x</p>'")).toBe('TypeError');
      expect(await outcome("trustedTypes.createPolicy('any', {})")).toBe('TypeError');
      expect(await outcome("document.createElement('script').src = '/x.js'")).toBe('TypeError');
      expect(
        await at.page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'done', (error) => error.name)"),
      ).toBe('TypeError');
      expect([...asked].filter((origin) => origin !== 'null')).toEqual([at.fixture.stack.url]);
    });

    it('sends the page without a byte of anybody, and all else from its own address', async () => {
      await at.open(at.fixture.usual.manageToken);
      await at.page.getByText('from the bucket').waitFor();
      const names = (await at.page.evaluate(
        "performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin)",
      )) as string[];
      expect(new Set(names)).toEqual(new Set([at.fixture.stack.url]));
      expect(at.messages).toEqual([]);
    });
  });

  describe('a session counts with its header alone, ends with its token, and the token is kept nowhere', () => {
    const path = '/v1/tenants/northlight/subscription';
    it('is refused without the header, and at once when the token is revoked', async () => {
      const { tokenId, token } = await at.fixture.api.newToken('northlight', { scope: 'manage' });
      const signedIn = await at.fixture.api.send({
        method: 'POST',
        path: '/v1/session',
        headers: { ...bearer(token), 'lfs-quota-console': '1' },
      });
      expect(signedIn.status, signedIn.text).toBe(201);
      const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
      const status = async (headers: Record<string, string>) =>
        (await at.fixture.api.send({ method: 'GET', path, headers: { cookie, ...headers } })).status;
      expect(await status({ 'lfs-quota-console': '1' })).toBe(200);
      expect(await status({})).toBe(401);
      expect(await status({ 'lfs-quota-console': '1', 'sec-fetch-site': 'same-site' })).toBe(401);
      expect(await status({ 'lfs-quota-console': '1', 'sec-fetch-site': 'same-origin' })).toBe(200);
      await at.fixture.api.manage('DELETE', `/v1/tenants/northlight/tokens/${tokenId}`);
      expect(await status({ 'lfs-quota-console': '1' })).toBe(401);
    });

    it('has the token in no storage, no address and no log', async () => {
      const { token } = await at.fixture.api.newToken('northlight', { scope: 'manage' });
      await at.page.goto(at.fixture.stack.url);
      await at.page.getByLabel('Access token').fill(token);
      await at.page.getByRole('button', { name: 'Sign in' }).click();
      await at.page.getByRole('heading', { name: 'Overview' }).waitFor();
      const kept = await at.page.evaluate(`(async () => JSON.stringify([
        { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state,
        await indexedDB.databases(), await caches?.keys?.(),
        performance.getEntries().map(({ name }) => name),
      ]))()`);
      expect(String(kept)).toContain('northlight');
      expect(String(kept)).not.toContain(token);
      expect(JSON.parse(String(kept)).slice(0, 3)).toEqual([{}, {}, '']);
      const [cookie] = await at.context.cookies();
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
      expect(cookie?.value).not.toContain(token);
      const log = JSON.stringify(at.fixture.logged);
      expect(log).toContain('northlight');
      expect(log).not.toContain(token);
      expect(log).not.toContain(cookie?.value);
    });
  });
});
