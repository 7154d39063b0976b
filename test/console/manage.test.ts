import { randomBytes } from 'node:crypto';
import type { Request } from 'playwright-core';
import { expect, it } from 'vitest';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { bearer, jsonOf } from '../blackbox/api.ts';
import { ask, objectOf, push } from '../blackbox/lfs.ts';
import { describeInBrowser } from './browser.ts';
import { NewPages } from './new-pages.ts';

const plain = (text: string | null) => (text ?? '').replaceAll('\u00a0', ' ').replace(/\s+/g, ' ').trim();
const mib = 1024 ** 2;

describeInBrowser('what admins and the operator do in the console', (launch) => {
  const at = new NewPages(launch);
  const path = '/v1/tenants/northlight';
  const focused = () => at.page.evaluate('document.activeElement.textContent');
  /** Changes that the page asks for, by method and body. */
  const recordChanges = () => {
    const sent: unknown[] = [];
    at.page.on('request', (request: Request) => {
      if (!['GET', 'POST'].includes(request.method())) sent.push(request.postDataJSON());
    });
    return sent;
  };

  /** Has the API answer otherwise. */
  const changed = (url: string, change: (body: Record<string, unknown>) => object) =>
    at.page.route(url, async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      const { 'if-none-match': _known, ...headers } = route.request().headers();
      const body = (await (await route.fetch({ headers })).json()) as Record<string, unknown>;
      await route.fulfill({ json: change(body) });
    });

  /** Shows a login that was started elsewhere. */
  const changedDevice = (more: object) =>
    at.page.route('**/device?dryRun=true', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as object;
      await route.fulfill({ response, json: { ...body, ...(response.ok() && more) } });
    });

  it.each<{
    limit: string;
    address: string;
    card: string;
    label: string;
    prepare?: () => Promise<unknown>;
    field: (bytes: number) => object;
  }>([
    {
      limit: 'a tenant',
      address: '#northlight/settings',
      card: 'Storage limit',
      label: 'Limit of northlight',
      field: (limitBytes) => ({ limitBytes }),
    },
    {
      limit: 'downloads',
      address: '#northlight/settings',
      card: 'Download limit',
      label: 'Downloads per month',
      prepare: async () => {
        await at.fixture.api.manage('PATCH', path, { downloadLimitBytes: 5 * mib });
        await changed('**/downloads?limit=1', (body) => ({
          ...body,
          month: { ...(body['month'] as object), bytes: 2 * mib },
        }));
      },
      field: (downloadLimitBytes) => ({ downloadLimitBytes }),
    },
    {
      limit: 'a repo',
      address: '#northlight/repos/atlas-world/settings',
      card: 'Storage limit',
      label: 'Limit of atlas-world',
      prepare: async () => {
        await at.fixture.api.manage('PATCH', `${path}/repos/atlas-world`, { limitBytes: 5 * mib });
        await changed('**/repos/atlas-world', (body) => ({ ...body, storedBytes: 2 * mib }));
      },
      field: (limitBytes) => ({ limitBytes }),
    },
    {
      limit: 'public downloads',
      address: '#northlight/repos/cinematics/settings',
      card: 'Public access',
      label: 'Monthly limit',
      prepare: async () => {
        const publicRead = { monthlyLimitBytes: 5 * mib };
        await at.fixture.api.manage('PATCH', `${path}/repos/cinematics`, { publicRead });
        await changed('**/repos/cinematics', (body) => ({
          ...body,
          publicRead: {
            ...(body['publicRead'] as object),
            month: { month: '2026-11', bytes: 2 * mib, objects: 1, resetsAt: '2099-01-01T00:00:00Z' },
          },
        }));
      },
      field: (monthlyLimitBytes) => ({ publicRead: { monthlyLimitBytes } }),
    },
  ])(
    'changes the limit of $limit: prefilled, not saved unchanged or empty, and asks below what is used',
    async ({ address, card, label, prepare, field }) => {
      await prepare?.();
      const sent = recordChanges();
      await at.open(at.fixture.api.target.adminToken, address);
      const form = at.page.getByRole('region', { name: card, exact: true });
      const number = form.getByLabel(label);
      const save = form.getByRole('button', { name: 'Save' });
      await number.waitFor();
      const proposed = await number.inputValue();
      expect(proposed).toBe(label === 'Limit of northlight' ? '2.38' : '5');
      expect(await form.getByLabel('Unit').inputValue()).toBe('MiB');
      expect(await save.isDisabled()).toBe(true);
      for (const typed of ['', 'ten', '-1', ` ${proposed} `]) {
        await number.fill(typed);
        expect(await save.isDisabled(), typed).toBe(true);
      }
      await number.fill('10');
      await save.click();
      await expect.poll(() => sent).toEqual([field(10 * mib)]);
      await expect.poll(() => save.isDisabled()).toBe(true);
      expect(await form.getByRole('status').filter({ hasText: 'Saved' }).count()).toBe(1);
      // Below what is used nothing is sent before the red button.
      await number.fill('1');
      expect(plain(await form.innerText())).toMatch(/more than this/);
      await number.press('Enter');
      const dialog = at.page.getByRole('dialog', { name: 'Below current use' });
      await dialog.waitFor();
      expect(plain(String(await focused()))).toBe('Keep 10 MiB');
      await at.page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
      expect(sent.length).toBe(1);
      expect(await at.page.evaluate('document.activeElement.tagName')).toBe('INPUT');
      await save.click();
      await dialog.getByRole('button', { name: 'Keep' }).click();
      expect(sent.length).toBe(1);
      await save.click();
      await dialog.getByRole('button', { name: 'Set 1 MiB' }).click();
      await expect.poll(() => sent).toEqual([field(10 * mib), field(mib)]);
      await dialog.waitFor({ state: 'hidden' });
      expect(await number.inputValue()).toBe('1');
      await at.fixture.api.manage('PATCH', path, { limitBytes: 2_500_000, downloadLimitBytes: null });
      expect(at.messages).toEqual([]);
    },
  );

  it('pages 212 repos by 10, the largest first, and their sum is the total', async () => {
    const sizes = Array.from({ length: 212 }, (_, index) => 1_000_000 + index * 1_117);
    const repos = sizes.map((storedBytes, index) => ({
      repo: `repo-${String(index).padStart(3, '0')}`,
      limitBytes: index === 211 ? 4_000_000 : null,
      storedBytes,
      objectCount: index,
      scannedAt: new Date().toISOString(),
    }));
    const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
    await changed('**/subscription', (body) => ({
      ...body,
      usage: { ...(body['usage'] as object), storedBytes: total },
      repos,
    }));
    await at.page.route('**/repos?*', (route) => route.fulfill({ json: { repos, nextCursor: null } }));
    await at.open(at.fixture.usual.readToken, '#northlight/repos');
    await expect
      .poll(async () => plain(await at.page.locator('.title .note').textContent()))
      .toBe(`all 212, together ${formatBytes(total)}`);
    const rows = at.page.locator('table.repos tbody tr');
    const names: string[] = [];
    for (let page = 0; ; page += 1) {
      await at.page.getByText(`${page * 10 + 1}–`).waitFor();
      names.push(...(await rows.locator('th a').allTextContents()));
      // A share is as wide as its percent.
      for (const row of await rows.all()) {
        const percent = Number.parseFloat((await row.locator('td').nth(2).textContent()) ?? '');
        const width = Number.parseFloat((await row.locator('rect').last().getAttribute('width')) ?? '');
        expect(Math.abs(width - percent)).toBeLessThanOrEqual(0.6);
      }
      const next = at.page.getByRole('button', { name: 'Next' });
      expect(await rows.count()).toBe(page === 21 ? 2 : 10);
      if (await next.isDisabled()) break;
      await next.click();
    }
    expect(names).toEqual(repos.map(({ repo }) => repo).reverse());
    await at.page.getByText('Limited').click();
    await expect.poll(() => rows.locator('th a').allTextContents()).toEqual(['repo-211']);
    await at.page.getByText('All', { exact: true }).click();
    await at.page.getByLabel('Find a repo').fill('O-03');
    await expect.poll(() => rows.count()).toBe(10);
    await at.page.getByRole('button', { name: 'Repo', exact: true }).click();
    expect(await rows.first().locator('th a').textContent()).toBe('repo-030');
    expect(at.messages).toEqual([]);
  });

  it('creates a token with user and repos, and shows its secret once', async () => {
    await at.open(at.fixture.usual.manageToken, '#northlight/access');
    await at.page.getByRole('button', { name: 'New token' }).click();
    const dialog = at.page.getByRole('dialog', { name: 'New token' });
    expect(await dialog.getByLabel('Scope').inputValue()).toBe('write');
    expect(plain(await dialog.getByLabel('Expires').locator('option:checked').textContent())).toBe('90 days');
    const label = `laptop ${randomBytes(3).toString('hex')}`;
    await dialog.getByLabel('Label').fill(label);
    await dialog.getByLabel('User').fill('jonas');
    await dialog.getByLabel('Repos').selectOption(['cinematics', 'fonts']);
    await dialog.getByRole('button', { name: 'Create token' }).click();
    const secret = plain(await at.page.getByRole('dialog').locator('pre').textContent());
    expect(secret).toMatch(/^lfsq_/);
    const own = await fetch(`${at.fixture.stack.url}/v1/session`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    expect(await own.json()).toMatchObject({ label, user: 'jonas', scope: 'write' });
    // It's shown this once, so Escape doesn't close it.
    for (let press = 0; press < 3; press += 1) await at.page.keyboard.press('Escape');
    expect(plain(await at.page.getByRole('dialog').locator('pre').textContent())).toBe(secret);
    await at.page.getByRole('button', { name: 'Done' }).click();
    await at.page.getByRole('dialog').waitFor({ state: 'hidden' });
    await expect.poll(focused).toBe('New token');
    const row = at.page.getByRole('row').filter({ hasText: label });
    await row.waitFor();
    expect(plain(await row.innerText())).toMatch(/jonas write cinematics, fonts in 90 days never/);
    // Nowhere in the page, its address or what the browser keeps.
    const places =
      'document.documentElement.outerHTML + location.href + JSON.stringify({...localStorage, ...sessionStorage})';
    expect(String(await at.page.evaluate(places))).not.toContain(secret);
    const { tokens } = jsonOf(await at.fixture.api.manage('GET', `${path}/tokens`)) as {
      tokens: { label: string; user: string; repos: string[]; scope: string; expiresAt: string }[];
    };
    const made = tokens.find((token) => token.label === label);
    expect(made).toMatchObject({ user: 'jonas', repos: ['cinematics', 'fonts'], scope: 'write' });
    await row.getByRole('button', { name: `Revoke ${label}` }).click();
    expect(await focused()).toBe('Keep');
    await at.page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'hidden' });
    expect(at.messages).toEqual([]);
  });

  it('pages 500 tokens, and marks what never expires or expires soon', async () => {
    const dayMs = 86_400_000;
    const tokens = Array.from({ length: 500 }, (_, index) => ({
      tokenId: String(index).padStart(16, '0'),
      scope: 'read',
      label: `token ${index}`,
      user: null,
      repos: null,
      createdAt: '2026-01-01T00:00:00Z',
      expiresAt:
        index === 499 ? null : new Date(Date.now() + (index === 498 ? 6 : 60) * dayMs + 1000).toISOString(),
      lastUsedAt: null,
    }));
    await at.page.route('**/tokens?*', (route) => route.fulfill({ json: { tokens, nextCursor: null } }));
    await at.open(at.fixture.usual.manageToken, '#northlight/access');
    const card = at.page.getByRole('region', { name: 'Tokens' });
    await card.getByText('1–10 of 500').waitFor();
    expect(await card.locator('.is-near').allTextContents()).toEqual(['never expires', 'in 6 days']);
    await card.getByRole('button', { name: 'Next' }).click();
    await card.getByText('11–20 of 500').waitFor();
    expect(await card.locator('tbody tr').count()).toBe(10);
  });

  it('pages 10,000 locks as the server does, and releases one and all of an owner', async () => {
    const count = 10_000;
    const asked: URLSearchParams[] = [];
    const released: string[] = [];
    await at.page.route('**/locks?*', async (route) => {
      const { searchParams } = new URL(route.request().url());
      if (route.request().method() === 'DELETE') {
        released.push(searchParams.toString());
        return route.fulfill({
          json: { tenant: 'northlight', repo: 'fonts', releasedCount: 1, hasMore: false },
        });
      }
      asked.push(searchParams);
      const limit = Number(searchParams.get('limit'));
      const first = Number(searchParams.get('cursor') ?? 0);
      const locks = Array.from({ length: limit }, (_, index) => ({
        id: `id-${first + index}`,
        path: `art/file-${first + index}.psd`,
        owner: searchParams.get('owner') ?? (index === 0 ? 'bob' : 'ada'),
        ownerName: searchParams.get('owner') ?? (index === 0 ? 'bob' : 'ada'),
        lockedAt: '2026-11-21T05:00:00Z',
      }));
      return route.fulfill({
        json: { locks, nextCursor: first + limit < count ? String(first + limit) : null },
      });
    });
    await at.open(at.fixture.usual.manageToken, '#northlight/repos/fonts/locks');
    const card = at.page.getByRole('region', { name: 'Locks' });
    await card.getByText('1–20', { exact: true }).waitFor();
    await card.getByRole('button', { name: 'Next' }).click();
    await card.getByText('art/file-20.psd').waitFor();
    expect(await card.locator('tbody tr').count()).toBe(20);
    await card.getByRole('button', { name: 'Previous' }).click();
    await card.getByRole('button', { name: 'Release art/file-0.psd' }).click();
    const dialog = at.page.getByRole('dialog');
    await dialog.getByText("bob isn't notified").waitFor();
    expect(await focused()).toBe('Keep');
    await dialog.getByRole('button', { name: 'Release' }).click();
    await card.getByText('Released 1 lock.').waitFor();
    await expect.poll(focused).toBe('Released 1 lock.');
    await card.getByRole('button', { name: 'bob' }).first().click();
    await card.getByRole('button', { name: 'Release all' }).click();
    await dialog.getByRole('button', { name: 'Release' }).click();
    await expect.poll(() => released).toEqual(['path=art%2Ffile-0.psd', 'owner=bob']);
    // No page of the list was larger than what is shown.
    expect(asked.every((query) => query.get('limit') === '20')).toBe(true);
  });

  it('creates a repo of files, and shows, finds and deletes its files, page by page', async () => {
    const { api, usual } = at.fixture;
    const repo = `media-${randomBytes(3).toString('hex')}`;
    await at.open(usual.manageToken, '#northlight/repos');
    await at.page.getByRole('button', { name: 'New repo' }).click();
    const dialog = at.page.getByRole('dialog');
    await dialog.getByLabel('Name').fill(repo);
    await dialog.getByLabel('For').selectOption('Any files');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const tabs = at.page.getByRole('navigation', { name: 'Repo' });
    await tabs.getByRole('link', { name: 'Files' }).click();
    const card = at.page.getByRole('region', { name: 'Files' });
    await card.getByText('No files yet.').waitFor();
    expect(await tabs.getByRole('link').allTextContents()).toEqual(['Overview', 'Files', 'Settings']);

    const names = Array.from({ length: 25 }, (_, index) => `photos/${String(index).padStart(2, '0')}.jpg`);
    const files = [...names, 'notes.txt'].map((name, index) => ({ name, bytes: 100 + index }));
    const asked = await api.manage('POST', `${path}/repos/${repo}/uploads`, { files });
    const { uploads } = JSON.parse(asked.text) as {
      uploads: { url: string; headers: Record<string, string> }[];
    };
    for (const [index, { url, headers }] of uploads.entries()) {
      const body = Buffer.alloc(files[index]?.bytes ?? 0);
      expect((await fetch(url, { method: 'PUT', headers, body })).status).toBe(200);
    }
    await at.page.reload();
    const names20 = card.locator('tbody th');
    await card.getByText('1–20', { exact: true }).waitFor();
    expect(await names20.allTextContents()).toEqual(['notes.txt', ...names.slice(0, 19)]);
    await card.getByRole('button', { name: 'Next' }).click();
    await card.getByText('photos/24.jpg').waitFor();
    expect(await names20.count()).toBe(6);

    await card.getByRole('searchbox').fill('notes');
    await card.getByRole('button', { name: 'Find' }).click();
    await card.getByRole('button', { name: 'Delete notes.txt' }).click();
    await dialog.getByText('Frees 125').waitFor();
    expect(await focused()).toBe('Keep');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await expect.poll(focused).toBe('Deleted notes.txt.');
    await card.getByText('No file matches').waitFor();
    await card.getByRole('searchbox').fill('photos/1');
    await card.getByRole('button', { name: 'Find' }).click();
    await card.getByRole('button', { name: 'Delete all…' }).click();
    await dialog.getByText('10 that start with photos/1').waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await card.getByText('Deleted 10 that start with photos/1.').waitFor();
    const left = async () =>
      (
        JSON.parse((await api.manage('GET', `${path}/repos/${repo}/files`)).text) as {
          files: { name: string }[];
        }
      ).files.map(({ name }) => name);
    await expect
      .poll(left, { timeout: 20_000 })
      .toEqual(names.filter((name) => !name.startsWith('photos/1')));

    await at.open(usual.readToken, `#northlight/repos/${repo}/files`);
    await at.page.reload();
    await card.getByText('photos/00.jpg').waitFor();
    // The server's page was short: the names of deleted files stay taken.
    await card.getByRole('button', { name: 'Next' }).click();
    await card.getByText('photos/24.jpg').waitFor();
    const buttons = await card.getByRole('button').allTextContents();
    expect(buttons).toEqual(['Find', 'Previous', 'Next']);
    expect(at.messages).toEqual([]);
  });

  it('shows a read token nothing that changes anything', async () => {
    const allowed =
      /^(Sign out|CSV|Previous|Next|Find|Show all|Clone|Copy|Updated.*|Repo.*|Stored.*|30 days.*|Objects.*|\d.*)$/;
    for (const address of [
      '',
      '/repos',
      '/repos/atlas-world',
      '/repos/atlas-world/objects',
      '/repos/atlas-world/paths',
      '/repos/atlas-world/locks',
      '/repos/atlas-world/settings',
      '/objects',
      '/activity',
      '/access',
      '/settings',
    ]) {
      await at.open(at.fixture.usual.readToken, `#northlight${address}`);
      await at.page.reload();
      await at.page.getByRole('heading', { level: 1 }).waitFor();
      await at.page.waitForLoadState('networkidle');
      const buttons = (await at.page.getByRole('button').allTextContents()).map(plain);
      expect(
        buttons.filter((text) => !allowed.test(text)),
        address,
      ).toEqual([]);
      expect(await at.page.getByRole('checkbox').count(), address).toBe(0);
      expect(await at.page.getByRole('link', { name: /^(Access|Settings)$/ }).count(), address).toBe(0);
    }
    expect(at.messages).toEqual([]);
  });

  it('deletes a repo once its name is typed', async () => {
    const { api, usual } = at.fixture;
    const repo = `old-${randomBytes(3).toString('hex')}`;
    await push(api, { ...usual, repo }, [objectOf(100)]);
    await api.manage('GET', `${path}/subscription?refresh=true`);
    await at.open(usual.manageToken, `#northlight/repos/${repo}/settings`);
    await at.page.getByRole('button', { name: `Delete ${repo}…` }).click();
    const dialog = at.page.getByRole('dialog');
    const button = dialog.getByRole('button', { name: `Delete ${repo}` });
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel(`Type ${repo}`).fill(repo.slice(0, -1));
    expect(await button.isDisabled()).toBe(true);
    await dialog.getByLabel(`Type ${repo}`).fill(repo);
    await button.click();
    await expect.poll(() => at.page.url()).toMatch(/#northlight\/repos$/);
    const left = jsonOf(await api.manage('GET', `${path}/repos/${repo}`)) as { deleting?: boolean };
    expect(left.deleting).toBe(true);
    expect(at.messages).toEqual([]);
  });

  it('makes a repo public and private, and opens and cancels garbage collection', async () => {
    const { api, usual } = at.fixture;
    await at.open(usual.manageToken, '#northlight/repos/ui-kit/settings');
    const access = at.page.getByRole('region', { name: 'Public access' });
    await access.waitFor();
    let letRead = () => {};
    const mayRead = new Promise<void>((resolve) => (letRead = resolve));
    await at.page.route('**/repos/ui-kit', async (route) => {
      if (route.request().method() === 'GET') await mayRead;
      await route.continue();
    });
    await access.getByText('Public', { exact: true }).click();
    await access.getByRole('button', { name: 'Save' }).click();
    const publicRead = async () =>
      (jsonOf(await api.manage('GET', `${path}/repos/ui-kit`)) as { publicRead?: object }).publicRead;
    await expect.poll(publicRead).toMatchObject({ monthlyLimitBytes: 100 * 1024 ** 3 });
    // The page learns of it a request later. It doesn't show it as private until then, and can make it so.
    await access.getByText('Saved').waitFor();
    expect(await access.getByLabel('Public', { exact: true }).isChecked()).toBe(true);
    await access.getByText('Private', { exact: true }).click();
    await at.page.getByRole('dialog').getByRole('button', { name: 'Make private' }).click();
    letRead();
    await expect.poll(publicRead).toBe(undefined);
    const gc = at.page.getByRole('region', { name: 'Garbage collection' });
    await gc.getByRole('button', { name: 'Start' }).click();
    await gc.getByText('1. Watch pushes').waitFor();
    await gc.getByRole('button', { name: 'Cancel' }).click();
    await gc.getByText(/The last one ended .* and deleted 0 objects/).waitFor();
    expect(at.messages).toEqual([]);
  });

  it('reads again what a save has changed, though an older answer is still on its way', async () => {
    await at.open(at.fixture.usual.manageToken, '#northlight/repos/fonts/settings');
    const access = at.page.getByRole('region', { name: 'Public access' });
    await access.waitFor();
    let answer = () => {};
    const mayAnswer = new Promise<void>((resolve) => (answer = resolve));
    let reads = 0;
    await at.page.route('**/repos/fonts', async (route) => {
      if (route.request().method() !== 'GET') return route.continue();
      reads += 1;
      const response = await route.fetch();
      await mayAnswer;
      await route.fulfill({ response });
    });
    await at.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await expect.poll(() => reads).toBe(1);
    await access.getByText('Public', { exact: true }).click();
    await access.getByRole('button', { name: 'Save' }).click();
    await access.getByText('Saved').waitFor();
    const older = at.page.waitForResponse('**/repos/fonts');
    answer();
    await older;
    expect(await access.getByLabel('Public', { exact: true }).isChecked()).toBe(true);
    // By itself it's read again 10 s later.
    await expect.poll(() => reads, { timeout: 5_000 }).toBe(2);
    expect(await access.getByLabel('Public', { exact: true }).isChecked()).toBe(true);
    expect(at.messages).toEqual([]);
  });

  it('invites by a link that works once, is posted on a click alone, and leads to a token and the console', async () => {
    await at.open(at.fixture.usual.manageToken, '#northlight/access');
    await at.page.getByRole('button', { name: 'Invite', exact: true }).click();
    const form = at.page.getByRole('dialog', { name: 'Invite someone' });
    expect(await form.getByLabel('Scope').inputValue()).toBe('write');
    expect(await form.getByLabel('Token expires').inputValue()).toBe('7776000');
    await form.getByLabel('Name').fill('jonas');
    await form.getByLabel('Repos').selectOption(['fonts']);
    await form.getByRole('button', { name: 'Create invitation' }).click();
    const link = plain(
      await at.page.getByRole('dialog', { name: 'Send this link' }).locator('pre').textContent(),
    );
    await at.page.getByRole('button', { name: 'Done' }).click();
    const open = at.page.getByRole('region', { name: 'Invitations' }).locator('.line');
    await open.filter({ hasText: 'jonas' }).getByText('link expires in').waitFor();
    // As somebody else, who has no session.
    await at.context.clearCookies();
    const asked: string[] = [];
    at.page.on('request', (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await at.page.goto('about:blank');
    await at.page.goto(`${at.fixture.stack.url}/${link.slice(link.indexOf('#'))}`);
    await at.page.getByRole('heading', { name: 'Join northlight' }).waitFor();
    await at.page.getByRole('button', { name: 'Join' }).click();
    await at.page.locator('input:focus:invalid').waitFor();
    expect(asked.filter((each) => each.startsWith('POST'))).toEqual([]);
    await at.page.getByLabel('Your name').fill('jo');
    await at.page.getByRole('button', { name: 'Join' }).click();
    await at.page.getByRole('heading', { name: 'Welcome to northlight' }).waitFor();
    // The name of the invitation.
    await at.page.getByText('As jonas, you can read and write fonts, until').waitFor();
    // The token and each command are on a line of their own.
    const lines = await at.page
      .locator('pre')
      .evaluateAll((all) => all.map((each) => [(each.clientHeight - 24) / 19.5, each.textContent ?? '']));
    expect(lines).toHaveLength(3);
    for (const [shown, text] of lines)
      expect(shown, String(text)).toBeCloseTo(String(text).split('\n').length, 1);
    expect(at.page.url()).not.toContain('_join');
    const token = plain(await at.page.locator('pre').first().textContent());
    const session = await fetch(`${at.fixture.stack.url}/v1/session`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await session.json()).toMatchObject({ user: 'jonas', scope: 'write', repos: ['fonts'] });
    await at.page.getByRole('button', { name: 'Open the console' }).click();
    await at.page.getByText('jonas · read and write').waitFor();
    // It was used.
    await at.page.goto('about:blank');
    await at.page.goto(`${at.fixture.stack.url}/${link.slice(link.indexOf('#'))}`);
    await at.page.getByLabel('Your name').fill('jo');
    await at.page.getByRole('button', { name: 'Join' }).click();
    await at.page.getByRole('alert').getByText(/invit/i).waitFor();
    expect(at.messages).toEqual([]);
  });

  it.each([
    { grant: { repos: ['fonts'] }, configured: 'fonts', asksFor: false },
    { grant: { repos: ['cinematics', 'fonts'] }, configured: 'REPO', asksFor: true },
    { grant: {}, configured: 'REPO', asksFor: true },
    { grant: { scope: 'read', repos: ['fonts'] }, configured: undefined, asksFor: false },
  ])('shows who joins for $grant the lines of $configured', async ({ grant, configured, asksFor }) => {
    const made = await at.fixture.api.manage('POST', `${path}/invitations`, grant);
    const { link } = jsonOf(made) as { link: string };
    await at.page.goto(`${at.fixture.stack.url}/${link.slice(link.indexOf('#'))}`);
    const name = at.page.getByLabel('Your name');
    await name.fill(' ');
    await at.page.getByRole('button', { name: 'Join' }).click();
    await at.page.getByRole('alert').getByText(/user/).waitFor();
    await name.fill('jo');
    await at.page.getByRole('button', { name: 'Join' }).click();
    await at.page.getByText('As jo, you can read').waitFor();
    const [, , push] = await at.page.locator('pre').allTextContents();
    expect(push?.split('\n')[0]).toBe(
      configured &&
        `git config -f .lfsconfig lfs.url ${at.fixture.stack.url}/northlight/${configured}/info/lfs`,
    );
    expect(await at.page.getByText('Replace REPO').count()).toBe(asksFor ? 1 : 0);
  });

  /** A command line that waits. @returns its code, and whose it is once it's approved. */
  const startLogin = async (machine: string) => {
    const started = await fetch(`${at.fixture.stack.url}/v1/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ machine }),
    });
    const { userCode, token } = (await started.json()) as { userCode: string; token: string };
    const whose = async () => {
      const headers = { authorization: `Bearer ${token}` };
      const { user, scope, repos } = (await (
        await fetch(`${at.fixture.stack.url}/v1/session`, { headers })
      ).json()) as Record<string, unknown>;
      return { user, scope, repos };
    };
    return { userCode, whose };
  };
  const nobody = { user: undefined, scope: undefined, repos: undefined };

  it("approves one's own machine by a link, with one's own rights, and types nothing", async () => {
    const { userCode, whose } = await startLogin('ada on laptop');
    const own = { scope: 'write', repos: ['atlas-world'], user: 'ada' };
    const { token } = await at.fixture.api.newToken('northlight', own);
    await at.open(token, `#_device/${userCode}`);
    await at.page.getByText('ada on laptop').waitFor();
    const main = plain(await at.page.locator('main').innerText());
    expect(main).toContain('gets a token to read and write atlas-world as ada, until');
    expect(main).toContain(`Its login came from 127.0.0.1, and it shows ${userCode}.`);
    expect(main).toContain('Otherwise, close this page. The login expires automatically.');
    // Nothing here could reject it.
    expect(await at.page.getByRole('button').allTextContents()).toEqual(['Approve']);
    expect(await at.page.getByLabel('User').count()).toBe(0);
    expect(await whose()).toEqual(nobody);
    await at.page.getByRole('button', { name: 'Approve' }).click();
    await at.page.getByRole('heading', { name: 'Logged in' }).waitFor();
    expect(await whose()).toEqual(own);
    expect(at.messages).toEqual([]);
  });

  it("approves another user's machine in their name, by a code or a link", async () => {
    const { userCode, whose } = await startLogin('ada on desktop');
    await changedDevice({ address: '203.0.113.7' });
    await at.open(at.fixture.usual.manageToken, '#_device');
    await at.page.getByRole('button', { name: 'Continue' }).click();
    await at.page.locator('input:focus:invalid').waitFor();
    await at.page.getByLabel('Code').fill(userCode.toLowerCase());
    await at.page.getByRole('button', { name: 'Continue' }).click();
    await at.page.getByText('Its login came from 203.0.113.7, and it shows').waitFor();
    await at.page.getByLabel('User').fill('');
    await at.page.getByRole('button', { name: 'Approve' }).click();
    await at.page.locator('input:focus:invalid').waitFor();
    expect(await whose()).toEqual(nobody);
    await at.page.getByLabel('User').fill('ada');
    await at.page.getByRole('button', { name: 'Approve' }).click();
    await at.page.getByRole('heading', { name: 'Logged in' }).waitFor();
    expect(await whose()).toEqual({ user: 'ada', scope: 'write', repos: null });
    // A link with another code, in the same tab: it's used now.
    const used = await startLogin('grace on desktop');
    await at.page.goto(`${at.fixture.stack.url}/#_device/${used.userCode}`);
    await at.page.getByText('grace on desktop').waitFor();
    await at.page.goto(`${at.fixture.stack.url}/#_device/${userCode}`);
    const alert = at.page.getByRole('alert');
    await alert.getByText('This login is already approved: ada on desktop got its token.').waitFor();
    await at.page.goto(`${at.fixture.stack.url}/#_device/BBBB-BBBB`);
    await alert.getByText('No login is waiting with this code.').waitFor();
    expect(at.messages).toEqual([]);
  });

  it('says what to do after too many wrong codes', async () => {
    const { tenant, writeToken } = await at.fixture.api.newTenant();
    for (let tries = 0; tries < 5; tries += 1)
      await at.fixture.api.as(bearer(writeToken), 'POST', `/v1/tenants/${tenant}/device`, { userCode: 'x' });
    await at.open(writeToken, '#_device/BBBB-BBBB');
    await at.page
      .getByRole('alert')
      .getByText('Too many wrong codes. Wait 10 minutes, then start the login again.')
      .waitFor();
    expect(at.messages).toEqual([]);
  });

  it('by keyboard alone: from a rejected push to freed space', async () => {
    const { api } = at.fixture;
    const tenant = await api.newTenant({ limitBytes: 100_000 });
    const place = { ...tenant, repo: 'game' };
    await push(api, place, [objectOf(90_000)]);
    await api.manage('GET', `/v1/tenants/${tenant.tenant}/subscription?refresh=true`);
    const { error } = await ask(api, place, 'upload', { oid: 'ab'.repeat(32), size: 50_000 });
    const short = /: ([\d.]+ \w+) short/.exec(error?.message ?? '')?.[1] ?? '';
    expect(short).toMatch(/KiB$/);
    const { token } = await api.newToken(tenant.tenant, { scope: 'manage' });
    await at.open(token);
    const notice = at.page.locator('.notice').first();
    await expect.poll(async () => plain(await notice.innerText())).toContain(short);
    const tabTo = async (name: RegExp) => {
      for (let presses = 0; presses < 80; presses += 1) {
        await at.page.keyboard.press('Tab');
        const text = await at.page.evaluate(
          "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
        );
        if (name.test(String(text).trim())) return;
      }
      throw new Error(`Nothing is called ${name}.`);
    };
    await tabTo(/^Find what to delete$/);
    await at.page.keyboard.press('Enter');
    await at.page.getByRole('checkbox', { name: /^Choose/ }).waitFor();
    await tabTo(/^Choose [0-9a-f]{12}$/);
    await at.page.keyboard.press('Space');
    await tabTo(/^Delete…$/);
    await at.page.keyboard.press('Enter');
    await at.page.getByText(/Frees 87.89.KiB in 60 min/).waitFor();
    expect(await focused()).toBe('Keep');
    await at.page.keyboard.press('Shift+Tab');
    await at.page.keyboard.press('Enter');
    await expect
      .poll(async () => plain(String(await focused())))
      .toMatch(/^Deletes 1 object in 60 min, which frees 87.89 KiB\.$/);
    // The push that was rejected is in Activity, with the number of git's message.
    await at.page.goto(`${at.fixture.stack.url}/#${tenant.tenant}/activity`);
    await at.page.getByText(`1 file, 48.83`).waitFor();
    expect(
      plain(await at.page.locator('.entry').filter({ hasText: 'rejected' }).first().innerText()),
    ).toContain(short);
    await at.page.getByText('scheduled the deletion of the object').waitFor();
    expect(at.messages).toEqual([]);
  }, 60_000);

  it('adds an address for e-mail alerts, says that it has to confirm, and removes it', async () => {
    const address = `bob-${randomBytes(3).toString('hex')}@example.com`;
    await at.open(at.fixture.usual.manageToken, '#northlight/settings');
    const card = at.page.getByRole('region', { name: 'E-mail alerts' });
    await card.getByText('None yet.').waitFor();
    await card.getByRole('button', { name: 'Add an address' }).click();
    const dialog = at.page.getByRole('dialog', { name: 'Add an address' });
    await dialog.getByLabel('E-mail address').fill('bob');
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    await dialog.getByText('must be an e-mail address').waitFor();
    await dialog.getByLabel('E-mail address').fill(` ${address} `);
    await dialog.getByRole('button', { name: 'Add', exact: true }).click();
    const line = card.locator('.line').filter({ hasText: address });
    await line.getByText('Not confirmed yet.').waitFor();
    const listed = async () => {
      const { emails } = jsonOf(await at.fixture.api.manage('GET', `${path}/emails`)) as {
        emails: { address: string; confirmedAt: string | null }[];
      };
      return emails;
    };
    expect(await listed()).toMatchObject([{ address, confirmedAt: null }]);
    await line.getByRole('button', { name: `Remove ${address}` }).click();
    await at.page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await card.getByText('None yet.').waitFor();
    expect(await listed()).toEqual([]);
    await at.page.goto(`${at.fixture.stack.url}/#northlight/activity`);
    await at.page.getByText(`removed the e-mail address ${address}`).waitFor();
  });

  it('asks again for addresses and the webhook only while something of them waits', async () => {
    const { tenant } = await at.fixture.api.newTenant();
    const { token } = await at.fixture.api.newToken(tenant, { scope: 'manage' });
    await at.page.clock.install();
    const asked: string[] = [];
    at.page.on('request', (request) => {
      const [, name] = /\/(emails|webhook|exports|scans)(\?.*)?$/.exec(request.url()) ?? [];
      if (name !== undefined) asked.push(name);
    });
    const settings = `#${tenant}/settings`;
    await at.open(token, settings);
    const card = at.page.getByRole('region', { name: 'E-mail alerts' });
    await card.getByText('None yet.').waitFor();
    for (const [view, names] of [
      [settings, ['webhook', 'emails', 'exports']],
      [`#${tenant}/activity`, ['scans', 'exports', 'webhook']],
    ] as const) {
      await at.page.goto(`${at.fixture.stack.url}/${view}`);
      await expect.poll(() => asked).toEqual(expect.arrayContaining([...names]));
      asked.length = 0;
      for (let times = 0; times < 3; times += 1) await at.page.clock.fastForward(20_000);
      expect(asked).toEqual([]);
    }
    const address = `bob-${randomBytes(3).toString('hex')}@example.com`;
    await at.fixture.api.manage('POST', `/v1/tenants/${tenant}/emails`, { address });
    await at.page.goto(`${at.fixture.stack.url}/${settings}`);
    await card.getByText('Not confirmed yet.').waitFor();
    asked.length = 0;
    await at.page.clock.fastForward(20_000);
    await expect.poll(() => asked).toContain('emails');
    expect(asked).not.toContain('webhook');
  });

  it('shows what came of a webhook test, and then asks no more', async () => {
    const iso = '2026-11-21T05:00:00Z';
    const webhook = { url: 'https://hooks.example.com/a', createdAt: iso, secretChangedAt: iso };
    let last: object | null = null;
    let asked = 0;
    await at.page.route('**/webhook', (route) => {
      asked += 1;
      return route.fulfill({ json: { ...webhook, last } });
    });
    const queued = { tenant: 'northlight', eventId: 'northlight:7' };
    await at.page.route('**/webhook/test', (route) => route.fulfill({ status: 202, json: queued }));
    await at.page.clock.install();
    await at.open(at.fixture.usual.manageToken, '#northlight/settings');
    const card = at.page.getByRole('region', { name: 'Webhook' });
    await card.getByText('Nothing sent yet.').waitFor();
    await at.page.clock.fastForward(60_000);
    expect(asked).toBe(1);
    await card.getByRole('button', { name: 'Send a test' }).click();
    await card.getByText('Test sent.').waitFor();
    const later = async () => {
      await at.page.clock.fastForward(10_000);
      return asked;
    };
    await expect.poll(later).toBeGreaterThan(3);
    last = {
      ...queued,
      type: 'webhook.test',
      at: iso,
      attempt: 1,
      outcome: 'delivered',
      status: 204,
      failure: null,
      nextAt: null,
    };
    await expect.poll(later).toBeGreaterThan(4);
    await card.getByText(/webhook\.test, .* delivered/).waitFor();
    asked = 0;
    for (let times = 0; times < 3; times += 1) await later();
    expect(asked).toBe(0);
  });

  it('offers the hosts of the server to link a repo to, and without one nothing', async () => {
    const settings = '#northlight/repos/fonts/settings';
    await at.open(at.fixture.usual.manageToken, settings);
    await at.page.getByRole('button', { name: 'Delete fonts…' }).waitFor();
    await at.page.waitForLoadState('networkidle');
    expect(await at.page.getByRole('heading', { name: 'Git host' }).count()).toBe(0);
    await changed('**/v1/tenants/northlight/users', (body) => ({ ...body, gitHosts: ['github', 'forge'] }));
    await at.page.reload();
    await at.page.getByRole('button', { name: 'Link…' }).click();
    const dialog = at.page.getByRole('dialog', { name: 'Link a repository' });
    expect(await dialog.getByLabel('Git host').locator('option').allTextContents()).toEqual([
      'github',
      'forge',
    ]);
    const sent = recordChanges();
    await dialog.getByLabel('Git host').selectOption('forge');
    await dialog.getByLabel('Repository').fill(' acme/fonts ');
    await dialog.getByRole('button', { name: 'Link', exact: true }).click();
    await expect.poll(() => sent).toEqual([{ gitHost: { host: 'forge', repo: 'acme/fonts' } }]);
  });

  it('asks for no repos of a token where there are none', async () => {
    const { tenant } = await at.fixture.api.newTenant({ limitBytes: null });
    const { token } = await at.fixture.api.newToken(tenant, { scope: 'manage' });
    await at.open(token, `#${tenant}/access`);
    await at.page.getByRole('button', { name: 'New token' }).click();
    const dialog = at.page.getByRole('dialog', { name: 'New token' });
    await dialog.getByLabel('Expires').waitFor();
    expect(await dialog.getByLabel('Repos').count()).toBe(0);
  });

  it('offers no repo to export that has no name, or one that cannot be asked for', async () => {
    await changed('**/subscription*', (body) => {
      const repos = body['repos'] as object[];
      return { ...body, repos: [...repos, { ...repos[0], repo: '' }, { ...repos[0], repo: 'a b' }] };
    });
    await at.open(at.fixture.usual.manageToken, '#northlight/settings');
    await at.page.getByRole('button', { name: 'Start an export' }).click();
    const options = await at.page.getByLabel('Repo', { exact: true }).locator('option').allTextContents();
    expect(options).toContain('atlas-world');
    expect(options[0]).toBe('All repos');
    expect(options.slice(1).filter((name) => !/^[\w-]+$/.test(name))).toEqual([]);
  });

  it('says that the audit log cannot be read, and what to do', async () => {
    await at.page.route('**/audit?*', (route) => route.abort());
    await at.open(at.fixture.usual.manageToken, '#northlight/activity');
    await at.page.getByRole('alert').getByText("Couldn't list all entries. Reload the page.").waitFor();
  });
});
