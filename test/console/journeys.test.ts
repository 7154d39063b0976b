import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { formatBytes } from '../../lambda/core/rules/sizes.ts';
import { basic, jsonOf } from '../blackbox/api.ts';
import { objectOf, postBatch, push } from '../blackbox/lfs.ts';
import { describeInBrowser } from './browser.ts';
import { NewPages } from './new-pages.ts';

describeInBrowser('what somebody does in the console', (launch) => {
  const at = new NewPages(launch);

  /** Presses Tab until something of this name has the focus. */
  async function tabTo(name: RegExp, key = 'Tab'): Promise<void> {
    for (let presses = 0; presses < 80; presses += 1) {
      await at.page.keyboard.press(key);
      const label = await at.page.evaluate(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.labels?.[0]?.textContent ?? document.activeElement.textContent",
      );
      if (name.test(String(label))) return;
    }
    throw new Error(`Nothing called ${name} can be reached.`);
  }

  it('by keyboard alone: signs in, scans, sorts the repos, makes and revokes a token, signs out', async () => {
    await at.page.goto(at.fixture.stack.url);
    await at.page.getByLabel('Access token').waitFor();
    await at.page.keyboard.type('lfsq_wrong');
    await at.page.keyboard.press('Enter');
    await at.page.getByText('Invalid, expired or revoked token.').waitFor();
    await at.page.keyboard.press('Control+A');
    await at.page.keyboard.type(at.fixture.usual.manageToken);
    await at.page.keyboard.press('Enter');
    await at.page.getByRole('heading', { name: 'Overview' }).waitFor();

    await tabTo(/^Scan now$/);
    await at.page.keyboard.press('Enter');
    await at.page.getByText(/Updated (just now|\d s ago)/).waitFor();

    await tabTo(/^Repos$/, 'Shift+Tab');
    await at.page.keyboard.press('Enter');
    await at.page.locator('h1:focus', { hasText: 'Repos' }).waitFor();
    await tabTo(/^Stored/);
    await at.page.keyboard.press('Enter');
    await expect.poll(() => at.page.getByRole('row').nth(1).textContent()).toContain('fonts');

    await tabTo(/^Access$/, 'Shift+Tab');
    await at.page.keyboard.press('Enter');
    await at.page.locator('h1:focus', { hasText: 'Access' }).waitFor();
    await tabTo(/^New token$/);
    await at.page.keyboard.press('Enter');
    await at.page.keyboard.type('by keyboard');
    await tabTo(/^Create token$/);
    await at.page.keyboard.press('Enter');
    const secret = await at.page.getByText(/^lfsq_[A-Za-z0-9]{40}$/).textContent();
    const used = await at.fixture.api.send({
      method: 'GET',
      path: '/v1/tenants/northlight/subscription',
      headers: basic(secret ?? ''),
    });
    expect(used.status).toBe(200);
    await tabTo(/^Done$/);
    await at.page.keyboard.press('Enter');
    await expect.poll(() => at.page.getByText(/^lfsq_/).count()).toBe(0);
    expect(await at.page.content()).not.toContain(secret);
    await at.page.locator('button:focus', { hasText: 'New token' }).waitFor();
    await tabTo(/^Revoke by keyboard$/);
    await at.page.keyboard.press('Enter');
    // What does no harm has the focus.
    await at.page.locator('button:focus', { hasText: 'Keep' }).waitFor();
    await tabTo(/^Revoke$/);
    await at.page.keyboard.press('Enter');
    await at.page.getByRole('row').filter({ hasText: 'by keyboard' }).waitFor({ state: 'detached' });

    await tabTo(/^Sign out$/, 'Shift+Tab');
    await at.page.keyboard.press('Enter');
    await at.page.getByLabel('Access token').waitFor();
    expect(await at.page.getByText("You're signed out").count()).toBe(0);
    expect(at.messages).toEqual([]);
    expect(
      await at.page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'),
    ).toBe('[{},{},""]');
  });

  it('reads a day of the chart by arrow keys', async () => {
    const { readToken } = at.fixture.usual;
    await at.page.route('**/history*', async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      const [day] = body.days;
      const days = ['2026-01-01', '2026-01-02', '2026-01-03'].map((each, index) => ({
        ...day,
        day: each,
        storedBytes: (index + 1) * 1024 ** 2,
        objectCount: index + 1,
      }));
      await route.fulfill({ json: { ...body, days } });
    });
    await at.open(readToken);
    await at.page.getByText('Grew by 2 MiB in 3 days').waitFor();
    const reader = at.page.getByLabel('Chart day');
    await expect.poll(() => reader.getAttribute('aria-valuetext')).toMatch(/^3 Jan 2026: 3.MiB stored/);
    await tabTo(/^Chart day$/);
    await at.page.keyboard.press('ArrowLeft');
    await at.page.keyboard.press('ArrowLeft');
    await expect.poll(() => reader.getAttribute('aria-valuetext')).toMatch(/^1 Jan 2026: 1.MiB stored/);
    await expect.poll(() => at.page.getByText(/^1 Jan 2026: 1.MiB stored/).count()).toBe(1);
    await at.page.getByText('Show as table').first().click();
    await expect.poll(() => at.page.getByRole('region', { name: 'Days' }).getByRole('row').count()).toBe(4);
    expect(at.messages).toEqual([]);
  });

  it('sees the bytes of a first push arrive, the same as the API has', async () => {
    await at.open(at.fixture.empty.writeToken);
    await at.page.getByText('Waiting for the first push').waitFor();
    const lines = at.page.getByRole('region', { name: 'Connect a repository' }).locator('pre');
    const helper = `git config --global --replace-all credential.${at.fixture.stack.url}.helper store`;
    await expect.poll(async () => (await lines.allTextContents()).join()).toContain(helper);
    await at.page.getByText('lfs-quota CLI').click();
    // It sets a helper of its own.
    await expect.poll(async () => (await lines.allTextContents()).join()).not.toContain(helper);
    await push(at.fixture.api, { ...at.fixture.empty, repo: 'game' }, [objectOf(300_000), objectOf(70_001)]);
    await at.page.getByRole('heading', { name: 'Largest repos' }).waitFor({ timeout: 30_000 });
    const answer = await at.fixture.api.manage('GET', '/v1/tenants/demo/subscription');
    const { usage } = jsonOf(answer) as { usage: { storedBytes: number; objectCount: number } };
    expect(usage.storedBytes).toBe(370_001);
    const stored = await at.page.locator('.legend .value').first().textContent();
    expect(stored?.replace('\u00a0', ' ')).toBe(formatBytes(370_001));
    expect(await at.page.getByRole('row').nth(1).textContent()).toContain('game');
    expect(at.messages).toEqual([]);
  });

  /** What a table's button saves: its file's name, and its lines. */
  async function saved(name: string) {
    const [download] = await Promise.all([
      at.page.waitForEvent('download'),
      at.page.getByRole('button', { name: `${name} as CSV`, exact: true }).click(),
    ]);
    const lines = readFileSync(await download.path(), 'utf8').split('\r\n');
    expect(lines.pop()).toBe('');
    return { file: download.suggestedFilename(), heading: lines.shift(), lines };
  }

  it('saves each table as CSV, with all of its rows', async () => {
    const { readToken, tenant } = at.fixture.usual;
    await at.fixture.api.newToken(tenant, { scope: 'read', label: '=1+1,"Zoë"' });
    await offerDownload();
    await at.page.route('**/history*', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { days: object[] };
      const [day] = body.days;
      const days = Array.from({ length: 60 }, (_, index) => ({
        ...day,
        day: new Date(Date.UTC(2026, 7, 1 + index)).toISOString().slice(0, 10),
      }));
      await route.fulfill({ json: { ...body, days } });
    });
    await at.open(at.fixture.usual.manageToken);
    await at.page.getByRole('heading', { name: 'Downloads' }).waitFor();
    await at.page.getByRole('radio', { name: '30 days' }).check({ force: true });
    expect((await saved('history')).lines.length).toBe(60);
    const downloads = await saved('downloads');
    expect(downloads.heading).toBe('day,repo,tokenId,bytes,objects');
    expect(downloads.lines[0]).toMatch(/^"\d{4}-\d\d-\d\d","fonts","[^"]+",\d+,\d+$/);

    const show = (view: string) => at.page.goto(`${at.fixture.stack.url}/#northlight/${view}`);
    await show('repos');
    const repos = await saved('repos');
    expect(repos.file).toMatch(/^northlight-repos-\d{4}-\d\d-\d\d\.csv$/);
    expect(repos.heading).toBe(
      'repo,storedBytes,objectCount,scannedAt,beforeDay,beforeBytes,limitBytes,deleting',
    );
    expect(repos.lines.length).toBe(10);
    expect(repos.lines[0]).toMatch(/^"atlas-world",788480,3,"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ",,,,$/);

    await show('objects');
    await at.page.getByText('Largest').first().waitFor();
    const objects = await saved('objects');
    expect(objects.lines.length).toBe(14);
    expect(objects.lines.at(-1)).toMatch(/^"fonts","[0-9a-f]{64}",3072,"/);

    await show('access');
    await at.page.getByText('administrator').first().waitFor();
    const tokens = await saved('tokens');
    expect(tokens.lines.length).toBe(await tokenCount());
    expect(tokens.lines.filter((line) => line.includes('Zo')).map((line) => line.split(',"')[1])).toEqual([
      `'=1+1`,
    ]);
    expect(tokens.lines.join()).not.toContain(readToken);

    await at.open(at.fixture.api.target.adminToken);
    await at.page.getByRole('link', { name: 'observatory' }).waitFor();
    const tenants = await saved('tenants');
    expect(tenants.file).toMatch(/^tenants-/);
    expect(tenants.lines.find((line) => line.startsWith('"northlight"'))).toMatch(
      /^"northlight","studio",2500000,\d+,\d+,\d+,"/,
    );
    expect(at.messages).toEqual([]);
  });

  async function offerDownload(): Promise<void> {
    const { api, usual } = at.fixture;
    const stored = jsonOf(await api.manage('GET', '/v1/tenants/northlight/objects?repo=fonts')) as {
      objects: { oid: string; sizeBytes: number }[];
    };
    const objects = stored.objects.map(({ oid, sizeBytes }) => ({ oid, size: sizeBytes }));
    const answer = await postBatch(api, { ...usual, repo: 'fonts' }, { operation: 'download', objects });
    expect(answer.status).toBe(200);
  }

  it('by keyboard saves a table, sees the oldest objects, and downloads by day', async () => {
    await offerDownload();
    await at.open(at.fixture.usual.readToken);
    await at.page.getByRole('heading', { name: 'Downloads' }).waitFor();
    await tabTo(/^downloads as CSV$/);
    const [download] = await Promise.all([at.page.waitForEvent('download'), at.page.keyboard.press('Enter')]);
    expect(download.suggestedFilename()).toMatch(/^northlight-downloads-/);
    await tabTo(/^Show as table$/);
    await at.page.keyboard.press('Enter');
    await tabTo(/^By repo$/);
    await at.page.keyboard.press('ArrowRight');
    await at.page.getByText('Most by token').waitFor();
    await at.page.keyboard.press('ArrowRight');
    const days = at.page.getByRole('region', { name: 'Downloads by day' });
    await expect.poll(() => days.getByRole('row').count()).toBe(31);
    await at.page.goto(`${at.fixture.stack.url}/#northlight/objects`);
    await at.page.getByRole('radio', { name: 'Oldest' }).waitFor({ state: 'attached' });
    await tabTo(/^Largest$/);
    await at.page.keyboard.press('ArrowRight');
    await expect.poll(() => at.page.getByRole('radio', { name: 'Oldest' }).isChecked()).toBe(true);
    expect(at.messages).toEqual([]);
  });

  it('by keyboard deletes an object in two steps, of which the first says what the second does', async () => {
    await at.open(at.fixture.usual.manageToken, '#northlight/objects');
    await tabTo(/^Choose [0-9a-f]{12}$/);
    await at.page.keyboard.press('Space');
    await tabTo(/^Delete…$/);
    await at.page.keyboard.press('Enter');
    await at.page.getByText(/Frees 420.KiB in 60 min/).waitFor();
    // What does no harm has the focus.
    await at.page.keyboard.press('Enter');
    await at.page.getByText(/Frees 420/).waitFor({ state: 'detached' });
    await tabTo(/^Delete…$/);
    await at.page.keyboard.press('Enter');
    await at.page.getByText(/Frees 420.KiB in 60 min/).waitFor();
    await tabTo(/^Delete 1$/);
    await at.page.keyboard.press('Enter');
    await at.page.getByText('deleted in 60 min').waitFor();
    const audit = jsonOf(
      await at.fixture.api.manage('GET', '/v1/tenants/northlight/audit?action=object.delete'),
    ) as {
      entries: { by: { kind: string }; after: { bytes: number } }[];
    };
    expect(audit.entries.filter(({ after }) => after.bytes === 420 * 1024).length).toBe(1);
    // Among the oldest too, and once the page is loaded again.
    await at.page.getByText('Oldest').click();
    await at.page.getByText('Largest').click();
    await at.page.getByText('deleted in 60 min').waitFor();
    await at.page.reload();
    await at.page.getByText(/^deleted in (60|59) min$/).waitFor();
    await at.page.getByText('Deleting', { exact: true }).click();
    const rows = at.page.locator('tbody tr');
    await expect
      .poll(() => rows.allInnerTexts())
      .toEqual([expect.stringMatching(/deleted in (60|59) min[\s\S]*420.KiB/)]);
    // Whoever pushes it keeps it.
    const { api, usual } = at.fixture;
    const { deletions } = jsonOf(await api.manage('GET', '/v1/tenants/northlight/deletions')) as {
      deletions: { repo: string; oid: string; sizeBytes: number }[];
    };
    const [marked] = deletions;
    if (!marked) throw new Error('Nothing is marked.');
    await postBatch(
      api,
      { ...usual, repo: marked.repo },
      { operation: 'upload', objects: [{ oid: marked.oid, size: marked.sizeBytes }] },
    );
    await at.page.goto(`${at.fixture.stack.url}/#northlight`);
    await at.page.getByRole('button', { name: 'Scan now' }).click();
    await at.page.getByText(/Updated (just now|\d s ago)/).waitFor();
    await at.page.goBack();
    await at.page.getByText('None.').waitFor();
    expect(at.messages).toEqual([]);
  });

  it('is signed out at once when the token is revoked, and the address is kept', async () => {
    const { tokenId, token } = await at.fixture.api.newToken('northlight', { scope: 'manage' });
    await at.open(token);
    await at.page.getByText('from the bucket').waitFor();
    await at.page.waitForLoadState('networkidle');
    await at.fixture.api.manage('DELETE', `/v1/tenants/northlight/tokens/${tokenId}`);
    await at.page.getByRole('button', { name: 'Scan now' }).click();
    const ended = "You're signed out: your session or token expired or was revoked.";
    await at.page.getByRole('alert').getByText(ended).waitFor();
    // Not as if nobody had been signed in.
    await at.page.reload();
    await at.page.getByRole('alert').getByText(ended).waitFor();
    await at.page.getByLabel('Access token').fill(at.fixture.usual.readToken);
    await at.page.getByRole('button', { name: 'Sign in' }).click();
    await at.page.getByText('from the bucket').waitFor();
    // A reader can neither scan nor make tokens.
    expect(await at.page.getByRole('button', { name: 'Scan now' }).count()).toBe(0);
    expect(await at.page.getByRole('navigation').getByRole('link').allTextContents()).toEqual([
      'Overview',
      'Repos',
      'Objects',
    ]);
  });

  it('as the operator makes a tenant, and finds it', async () => {
    const name = `made-${randomBytes(4).toString('hex')}`;
    await at.open(at.fixture.api.target.adminToken);
    await at.page.getByRole('button', { name: 'New tenant' }).click();
    await at.page.getByLabel('Name').fill(name);
    for (const typed of ['', '12 apples']) {
      await at.page.getByLabel('Storage limit').fill(typed);
      await at.page.getByRole('button', { name: 'Create tenant' }).click();
      await at.page.getByText('Type a limit, such as 50 GiB').waitFor();
    }
    await at.page.getByLabel('Storage limit').fill('50');
    await at.page.getByRole('button', { name: 'Create tenant' }).click();
    // It leads to its page.
    await at.page.getByRole('heading', { name: 'Overview' }).waitFor();
    await at.page.getByText(/^of 50.GiB$/).waitFor();
    expect(new URL(at.page.url()).hash).toBe(`#${name}`);
    await at.page.getByRole('link', { name: 'lfs-quota' }).click();
    await at.page.getByRole('heading', { name: 'Tenants' }).waitFor();
    await at.page.getByLabel('Find a tenant').fill('MADE-');
    await at.page.getByRole('link', { name }).waitFor();
    expect(new URL(at.page.url()).hash).toBe('#?find=MADE-');
    await expect.poll(() => at.page.locator('table.tenants tbody tr').count()).toBe(1);
    expect(at.messages).toEqual([]);
  });

  it('as the operator sees that nothing failed, and by keyboard reaches a tenant whose reconcile did', async () => {
    const { api } = at.fixture;
    await at.open(api.target.adminToken);
    await at.page.getByRole('link', { name: 'All systems normal' }).click();
    await at.page.locator('h1:focus', { hasText: 'Status' }).waitFor();
    const card = at.page.getByRole('main');
    await card.getByText(/^Checked /).waitFor();
    // The same as the API has.
    const { parts } = jsonOf(await api.manage('GET', '/v1/status')) as { parts: { says: string }[] };
    await expect.poll(() => card.getByRole('listitem').count()).toBe(parts.length);
    await card.getByText(parts.at(-1)?.says ?? '').waitFor();
    await card.getByText(/The object store \(\S+ at .*\) responds in \d+ ms\./).waitFor();
    const at1 = { failedAt: new Date().toISOString(), since: new Date().toISOString() };
    await at.page.route('**/v1/status', async (route) => {
      const body = (await (await route.fetch()).json()) as object;
      const part = { part: 'failures', state: 'act', says: 'One failed.', todo: 'Read the log.' };
      const failure = {
        kind: 'reconcile',
        tenant: 'northlight',
        tries: 2,
        why: 'store',
        over: false,
        ...at1,
      };
      await route.fulfill({ json: { ...body, state: 'act', parts: [part], failures: [failure] } });
    });
    await at.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await card.getByText('Read the log.').waitFor();
    await card.getByText(/northlight: reconcile, store, (just now|\d+ s ago), 2 tries/).waitFor();
    await tabTo(/^northlight$/);
    await at.page.keyboard.press('Enter');
    await at.page.locator('h1:focus', { hasText: 'Overview' }).waitFor();
    expect(at.messages).toEqual([]);
  });

  it('as the operator sees the tenants while the status is still asked for, and what became of that', async () => {
    let answer = () => {};
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await at.page.route('**/v1/status', async (route) => {
      await held;
      await route.abort();
    });
    await at.open(at.fixture.api.target.adminToken);
    await at.page.getByRole('link', { name: 'northlight' }).waitFor();
    const failed = at.page.getByText("Can't read the status.");
    await at.page.getByText('Checking…').waitFor();
    expect(await failed.count()).toBe(0);
    answer();
    await failed.waitFor();
  });

  it('asks nobody else, and nothing while it is hidden', async () => {
    const hosts = new Set<string>();
    at.page.on('request', (request) => hosts.add(new URL(request.url()).host || 'data'));
    await at.open(at.fixture.usual.readToken);
    await at.page.getByText('from the bucket').waitFor();
    await at.page.waitForLoadState('networkidle');
    expect([...hosts].filter((host) => host !== 'data')).toEqual([new URL(at.fixture.stack.url).host]);
    const known = at.page.waitForResponse('**/subscription');
    await at.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    expect((await known).status()).toBe(304);
    await at.page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })");
    let asked = 0;
    at.page.on('request', () => {
      asked += 1;
    });
    await at.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await at.page.waitForTimeout(300);
    expect(asked).toBe(0);
  });

  it('cannot be done by a page on another port, though the browser sends it the cookie', async () => {
    await at.open(at.fixture.usual.manageToken);
    const target = `${at.fixture.stack.url}/v1/tenants/northlight`;
    const cookies: (string | undefined)[] = [];
    const other = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      cookies.push(request.headers.cookie);
      response.setHeader('content-type', 'text/html');
      response.end('<title>other</title>');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    try {
      await at.page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
      const outcome = (init: string) =>
        at.page.evaluate(
          `fetch('${target}/tokens', ${init}).then((answer) => answer.type + ' ' + answer.status, () => 'refused')`,
        );
      expect(await outcome("{ credentials: 'include' }")).toBe('refused');
      expect(await outcome("{ credentials: 'include', headers: { 'lfs-quota-console': '1' } }")).toBe(
        'refused',
      );
      const before = await tokenCount();
      expect(
        await outcome(
          `{ method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"scope":"manage"}' }`,
        ),
      ).toMatch(/^opaque/);
      expect(await tokenCount()).toBe(before);
      // It had it: it is the header that keeps it out.
      expect(cookies.some((cookie) => cookie?.includes('lfsq-'))).toBe(true);
    } finally {
      await new Promise((resolve) => other.close(resolve));
    }
  });

  const tokenCount = async () => {
    const answer = await at.fixture.api.manage('GET', '/v1/tenants/northlight/tokens');
    return (jsonOf(answer) as { tokens: unknown[] }).tokens.length;
  };
});
