import type { Request } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { jsonOf } from '../blackbox/api.ts';
import { ask, objectOf, push } from '../blackbox/lfs.ts';
import { describeInBrowser } from './browser.ts';
import { NewPages } from './new-pages.ts';

const plain = (text: string | null) => (text ?? '').replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').trim();

describeInBrowser('the views of the console', (launch) => {
  const at = new NewPages(launch);
  const heading = () => at.page.locator('h1').textContent();
  const hash = () => at.page.evaluate('location.hash');
  const shown = (title: string) =>
    at.page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();

  describe('every view has an address', () => {
    const views = [
      ['#', 'Tenants', 'Tenants · lfs-quota'],
      ['#_status', 'Status', 'Status · lfs-quota'],
      ['#northlight', 'Overview', 'Overview · northlight · lfs-quota'],
      ['#northlight/repos', 'Repos', 'Repos · northlight · lfs-quota'],
      ['#northlight/objects', 'Objects', 'Objects · northlight · lfs-quota'],
      ['#northlight/access', 'Access', 'Access · northlight · lfs-quota'],
      ['#northlight/settings', 'Settings', 'Settings · northlight · lfs-quota'],
    ] as const;

    it('that opens directly, after a reload, and by Back', async () => {
      await at.open(at.fixture.api.target.adminToken);
      for (const [address, title, documentTitle] of views) {
        await at.page.goto('about:blank');
        await at.page.goto(`${at.fixture.stack.url}/${address}`);
        await shown(title);
        await expect.poll(() => at.page.title()).toBe(documentTitle);
        await at.page.reload();
        await shown(title);
      }
      await at.page.goto(`${at.fixture.stack.url}/#northlight`);
      await shown('Overview');
      for (const view of ['Repos', 'Objects', 'Access']) {
        await at.page.getByRole('navigation').getByRole('link', { name: view }).click();
        await at.page.locator('h1:focus', { hasText: view }).waitFor();
        expect(await at.page.evaluate('scrollY')).toBe(0);
      }
      for (const view of ['Objects', 'Repos', 'Overview']) {
        await at.page.goBack();
        await at.page.locator('h1:focus', { hasText: view }).waitFor();
        await expect.poll(() => at.page.title()).toBe(`${view} · northlight · lfs-quota`);
      }
      expect(at.messages).toEqual([]);
    });

    it.each([
      ['#_nothing', 'Overview', '#northlight'],
      ['#demo/access', 'Overview', '#northlight'],
      ['#northlight/access', 'Overview', '#northlight'],
      ['#northlight/nothing', 'Overview', '#northlight'],
    ])('%s leads a reader to the nearest view', async (address, title, nearest) => {
      await at.open(at.fixture.usual.readToken, address);
      await shown(title);
      await expect.poll(hash).toBe(nearest);
      expect(await at.page.getByRole('navigation').getByRole('link').allTextContents()).toEqual([
        'Overview',
        'Repos',
        'Objects',
      ]);
    });
  });

  describe('a view is a part of the script', () => {
    it('that is fetched when its link gets the pointer or the focus, and once', async () => {
      const asked: string[] = [];
      at.page.on('request', (request: Request) => {
        const name = /\/assets\/(\w[\w-]*)-[0-9A-Z]{8}\.js$/.exec(request.url())?.[1];
        if (name !== undefined && name !== 'chunk') asked.push(name);
      });
      await at.open(at.fixture.usual.manageToken, '#northlight');
      await shown('Overview');
      expect(asked).toEqual(['console']);
      const link = (name: string) => at.page.getByRole('navigation').getByRole('link', { name });
      await link('Repos').hover();
      await expect.poll(() => asked.length).toBe(2);
      expect(await heading()).toBe('Overview');
      await link('Access').focus();
      for (const name of ['Repos', 'Access', 'Repos', 'Overview', 'Access']) {
        await link(name).click();
        await shown(name);
      }
      expect(asked.length).toBe(new Set(asked).size);
      expect(at.messages).toEqual([]);
    });

    it('that says so if it can’t be fetched', async () => {
      const others = /\/assets\/(?!console|chunk)[a-z-]+-[0-9A-Z]{8}\.js$/;
      await at.page.route(others, (route) => route.abort());
      await at.open(at.fixture.usual.readToken, '#northlight/repos');
      await at.page.getByText("Couldn't load this page.").waitFor();
      await at.page.unroute(others);
      await at.page.getByRole('button', { name: 'Reload' }).click();
      await at.page.getByText('atlas-world').first().waitFor();
    });
  });

  describe('a rejected push', () => {
    it('shows within 10 s, with the number of Git’s message, until the repo has more; without one there is nothing', async () => {
      const tenant = await at.fixture.api.newTenant({ limitBytes: 1_000_000 });
      const place = { ...tenant, repo: 'game' };
      await push(at.fixture.api, place, [objectOf(600_000)]);
      await at.open(tenant.readToken);
      await at.page.getByText('from the bucket').waitFor();
      expect(await at.page.locator('.notice').count()).toBe(0);
      expect(await at.page.locator('.ring').count()).toBe(0);

      const { error } = await ask(at.fixture.api, place, 'upload', { oid: 'ab'.repeat(32), size: 777_000 });
      const missing = /: ([\d.]+ [KM]iB) short\./.exec(error?.message ?? '')?.[1];
      expect(missing).toBe(formatBytes(377_000));
      const notice = at.page.locator('.notice.rejected');
      await notice.waitFor({ timeout: 10_000 });
      const text = plain(await notice.innerText());
      expect(text).toMatch(/^A push was rejected today at \d\d:\d\d\. /);
      expect(text).toContain(
        `It needed ${missing} more than was free: 1 file, ${formatBytes(777_000)}, to game`,
      );
      expect(text).toContain("Nothing was lost: push again when there's space.");
      const { lastRefusals } = jsonOf(
        await at.fixture.api.manage('GET', `/v1/tenants/${tenant.tenant}/history`),
      ) as { lastRefusals: { shortBytes: number }[] };
      expect(lastRefusals.map(({ shortBytes }) => formatBytes(shortBytes))).toEqual([missing]);

      await push(at.fixture.api, place, [objectOf(200_000)]);
      await notice.waitFor({ state: 'detached', timeout: 30_000 });
      await at.page.reload();
      await at.page.getByText('from the bucket').waitFor();
      expect(await notice.count()).toBe(0);
      expect(at.messages).toEqual([]);
    });
  });

  it.each([320, 360, 390])('has all its links in sight, and chips in line, at %d px', async (width) => {
    await at.page.setViewportSize({ width, height: 800 });
    await at.page.route('**/repos?*', async (route) => {
      const { repos } = (await (await route.fetch()).json()) as { repos: object[] };
      const limited = repos.map((each) => ({ ...each, limitBytes: 900_000 }));
      await route.fulfill({ json: { repos: limited, nextCursor: null } });
    });
    await at.open(at.fixture.usual.manageToken, '#northlight/repos');
    const nav = at.page.getByRole('navigation', { name: 'Views' });
    const last = await nav.getByRole('link', { name: 'Settings' }).boundingBox();
    expect((last?.x ?? Number.NaN) + (last?.width ?? Number.NaN)).toBeLessThanOrEqual(width);
    expect(await nav.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
    const cell = at.page.getByRole('row').filter({ hasText: 'fonts' }).locator('th, td').first();
    await cell.getByText('limit').waitFor();
    const lefts = await cell.evaluate((each) => {
      const of = (name: string) => each.querySelector(name)?.getBoundingClientRect();
      return [of('a')?.left, of('.pill')?.left, (of('.pill')?.top ?? 0) - (of('a')?.bottom ?? 0) >= 0];
    });
    expect(lefts[1]).toBe(lefts[0]);
    expect(lefts[2]).toBe(true);
  });

  it('says where the admin token is, and shows no box around a heading after a sign-in by Enter', async () => {
    await at.page.goto(`${at.fixture.stack.url}/#northlight`);
    await at.page.getByText('or the admin token').waitFor();
    await at.page.getByText('.lfs-quota/admin-token').waitFor();
    await at.page.getByLabel('Access token').fill(at.fixture.usual.readToken);
    await at.page.keyboard.press('Enter');
    await at.page.getByRole('link', { name: 'Repos', exact: true }).focus();
    await at.page.keyboard.press('Enter');
    const heading = at.page.getByRole('heading', { name: 'Repos', level: 1 });
    await expect.poll(() => at.page.evaluate('document.activeElement.tagName')).toBe('H1');
    expect(await at.page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('none');
    await heading.waitFor();
  });

  it('of a repo without objects has no meter, and a list without repos says so', async () => {
    const { tenant } = await at.fixture.api.newTenant({ limitBytes: null });
    const { token } = await at.fixture.api.newToken(tenant, { scope: 'manage' });
    await at.open(token, `#${tenant}/repos`);
    await at.page.getByText('No repos yet.').waitFor();
    const created = await at.fixture.api.manage('POST', `/v1/tenants/${tenant}/repos`, { repo: 'game' });
    expect(created.status, created.text).toBe(201);
    await at.open(token, `#${tenant}/repos/game`);
    await at.page.getByText('Downloads, 30 days').waitFor();
    expect(await at.page.locator('main meter').count()).toBe(0);
  });

  describe('a bar', () => {
    it('of a repo is as wide as its percent of what the tenant stores', async () => {
      await at.open(at.fixture.usual.readToken);
      const rows = at.page.locator('table.repos tbody tr');
      await expect.poll(() => rows.count()).toBe(5);
      for (const row of await rows.all()) {
        const percent = Number(/([\d.]+).%/.exec((await row.textContent()) ?? '')?.[1]);
        const [all, own] = await row.locator('.share rect').all();
        const width = async (rect = own) => (await rect?.boundingBox())?.width ?? Number.NaN;
        const shown = ((await width()) / (await width(all))) * 100;
        expect(Math.abs(shown - percent), `${shown} for ${percent} %`).toBeLessThanOrEqual(0.6);
      }
    });

    it.each([
      ['fills the part that it has of the limit of its tenant', 4_000_000],
      ['and its tenant have no limit: it fills its part of what is stored', null],
    ])('of a repo without a limit %s, beside other repos', async (_, limitBytes) => {
      await at.page.route('**/subscription*', async (route) => {
        const { 'if-none-match': _known, ...headers } = route.request().headers();
        const body = (await (await route.fetch({ headers })).json()) as Record<string, unknown>;
        const usage = { ...(body['usage'] as object), storedBytes: 2_000_000, reservedBytes: 500_000 };
        await route.fulfill({ json: { ...body, limitBytes, usage } });
      });
      await at.page.route('**/repos/fonts', async (route) => {
        const body = (await (await route.fetch()).json()) as object;
        await route.fulfill({ json: { ...body, limitBytes: null, storedBytes: 1_000_000 } });
      });
      await at.open(at.fixture.usual.readToken, '#northlight/repos/fonts');
      const usage = at.page.locator('.usage');
      await usage.locator('.of').waitFor();
      expect(plain(await usage.locator('.figure').textContent())).toBe(
        '976.56 KiB 50.0 % of what northlight stores',
      );
      const all = (await usage.locator('.bar svg').boundingBox())?.width ?? Number.NaN;
      const width = async (kind: string) =>
        ((await usage.locator(`.bar svg > .${kind}`).boundingBox())?.width ?? Number.NaN) / all;
      const part = limitBytes === null ? 0.5 : 0.25;
      expect(await width('fill')).toBeCloseTo(part, 2);
      expect(await width('striped')).toBeCloseTo(part, 2);
      const legend = plain(await usage.locator('.legend').textContent());
      expect(legend).toContain('Other repos976.56 KiB');
      if (limitBytes === null) expect(legend).not.toContain('Free');
      else expect(legend).toContain('Free in northlight1.43 MiB');
    });

    it.each([
      [0.899_999, 'fill', 0],
      [0.9, 'near-fill', 1],
      [1, 'fill', 1],
      [1.01, 'fill', 1],
    ])('at %d of the limit is %s, with %d notice', async (share, fill, notices) => {
      await at.page.route('**/subscription*', async (route) => {
        const { 'if-none-match': _known, ...headers } = route.request().headers();
        const body = (await (await route.fetch({ headers })).json()) as Record<string, unknown>;
        const usage = { ...(body['usage'] as object), storedBytes: share * 1_000_000, reservedBytes: 0 };
        await route.fulfill({ json: { ...body, limitBytes: 1_000_000, usage, lastRefusals: [] } });
      });
      await at.open(at.fixture.usual.readToken);
      await at.page.getByText('from the bucket').waitFor();
      expect(await at.page.locator(`.usage .bar > svg > .${fill}`).count()).toBe(1);
      expect(await at.page.locator('.usage .bar .over').count()).toBe(share > 1 ? 1 : 0);
      expect(await at.page.locator('.notice').count()).toBe(notices);
    });
  });

  it.each([
    [700_000, 1],
    [0, 0],
    [undefined, 0],
  ])(
    'the overview says that %s bytes are older than a year, as of the last full scan',
    async (bytes, lines) => {
      await at.page.route('**/subscription*', async (route) => {
        const { 'if-none-match': _known, ...headers } = route.request().headers();
        const body = (await (await route.fetch({ headers })).json()) as Record<string, unknown>;
        const olderThanYear = bytes === undefined ? undefined : { bytes, at: '2026-11-21T05:00:00Z' };
        await route.fulfill({ json: { ...body, usage: { ...(body['usage'] as object), olderThanYear } } });
      });
      await at.open(at.fixture.usual.readToken);
      await at.page.getByText('from the bucket').waitFor();
      const shown = at.page.locator('.legend .note', { hasText: 'older than a year' });
      expect((await shown.allTextContents()).map(plain)).toEqual(
        Array(lines).fill('683.59 KiB older than a year on 21 Nov 2026'),
      );
    },
  );

  it('by keyboard alone leads from a rejected push to what can be deleted', async () => {
    const tenant = await at.fixture.api.newTenant({ limitBytes: 1_000_000 });
    const place = { ...tenant, repo: 'game' };
    await push(at.fixture.api, place, [objectOf(600_000)]);
    await ask(at.fixture.api, place, 'upload', { oid: 'cd'.repeat(32), size: 700_000 });
    const { token } = await at.fixture.api.newToken(tenant.tenant, { scope: 'manage' });
    await at.open(token);
    await at.page.locator('.notice.rejected').waitFor();
    for (let presses = 0; presses < 30; presses += 1) {
      await at.page.keyboard.press('Tab');
      if ((await at.page.evaluate('document.activeElement.textContent')) === 'Find what to delete') break;
    }
    await at.page.keyboard.press('Enter');
    await at.page.locator('h1:focus', { hasText: 'Objects' }).waitFor();
    await at.page
      .getByText(/585\.94.KiB/)
      .first()
      .waitFor();
    expect(at.messages).toEqual([]);
  });
});
