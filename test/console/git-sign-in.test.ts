import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectStatus } from '../blackbox/api.ts';
import { startStandInHost } from '../support/git-host.ts';
import { describeInBrowser, watch } from './browser.ts';
import { type ConsoleFixture, startConsole } from './fixture.ts';
import { signIn } from './sign-in.ts';

const people = { ada: { id: 1, login: 'ada' }, mallory: { id: 2, login: 'mallory' } };
const refusal = "Couldn't sign you in.";

/** @param below the path of the server. */
const signInAt = (below: string) => (launch: () => Promise<Browser>) => {
  let browser: Browser;
  let fixture: ConsoleFixture;
  let forge: Awaited<ReturnType<typeof startStandInHost>>;
  let context: BrowserContext;
  let page: Page;
  /** Addresses that the window had, as a history shows them. */
  let addresses: string[];
  let messages: readonly string[];

  beforeAll(async () => {
    forge = await startStandInHost();
    [browser, fixture] = await Promise.all([
      launch(),
      startConsole({ gitHosts: [forge.withSignIn], path: below }),
    ]);
    forge.host.organization({ id: 42, name: 'acme-games', people: { ada: 'owner' } });
    const path = '/v1/tenants/northlight/organizations';
    expectStatus(await fixture.api.manage('PUT', path, { host: 'forge', organizationId: '42' }), 200);
  });
  afterAll(async () => {
    await browser?.close();
    await fixture?.close();
    await forge?.close();
  });
  beforeEach(async () => {
    context = await browser.newContext();
    page = await context.newPage();
    ({ messages } = await watch(page));
    addresses = [];
    page.on('request', (request) => {
      // The host sends the browser to one address with a code. Nothing that the page itself asks for has it.
      if (!request.isNavigationRequest()) addresses.push(request.url());
    });
  });

  const comeIn = async (login: keyof typeof people, hash = '#northlight') => {
    forge.host.browserUser = people[login];
    await page.goto(`${fixture.stack.url}/${hash}`);
    await page.getByRole('button', { name: 'Continue with Gitea' }).click();
  };
  const expectNothingLeft = async () => {
    expect(page.url()).not.toMatch(/code|state/);
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    );
    expect(kept).toBe('[{},{},""]');
    const said = JSON.stringify([messages, addresses, fixture.logged]);
    expect(said).not.toMatch(/code-[0-9a-f]{8}|forge-token-|lfs[a-z]_/);
    await page.goBack().catch(() => null);
    expect(page.url()).not.toMatch(/code-/);
  };

  it('leads to the view that was wanted, and leaves no code and no token anywhere', async () => {
    await comeIn('ada', '#northlight/repos');
    await page.getByRole('heading', { level: 1, name: 'Repos' }).waitFor();
    expect(page.url()).toBe(`${fixture.stack.url}/#northlight/repos`);
    const cookies = await context.cookies();
    expect(cookies.map(({ httpOnly, sameSite }) => [httpOnly, sameSite])).toEqual([[true, 'Strict']]);
    await expectNothingLeft();
  });

  it('leads to the command line whose link was opened, and its code stays in the browser', async () => {
    const started = await fetch(`${fixture.stack.url}/v1/device`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ machine: 'ada on laptop' }),
    });
    const { userCode } = (await started.json()) as { userCode: string };
    const sent: (string | null)[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/v1/sign-in')) sent.push(request.postData());
    });
    await comeIn('ada', `#_device/${userCode}`);
    await page.getByText('ada on laptop').waitFor();
    expect(page.url()).toBe(`${fixture.stack.url}/#_device/${userCode}`);
    expect(JSON.stringify(sent)).not.toContain(userCode);
    await expectNothingLeft();
  });

  it('asks the host once more before a change, and comes back to the view', async () => {
    await comeIn('ada', '#northlight/access');
    await page.getByRole('button', { name: 'New token' }).waitFor();
    const problem = { code: 'sign-in-again', detail: 'Sign in again.' };
    await page.route('**/v1/tenants/northlight/tokens', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 403,
            contentType: 'application/problem+json',
            body: JSON.stringify(problem),
          })
        : route.continue(),
    );
    const given = forge.host.given.length;
    await page.getByRole('button', { name: 'New token' }).click();
    const back = page.waitForURL(/\/sign-in\/forge\?code=/);
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /create/i })
      .click();
    await back;
    await page.getByRole('button', { name: 'New token' }).waitFor();
    expect(page.url()).toBe(`${fixture.stack.url}/#northlight/access`);
    expect(forge.host.given).toHaveLength(given + 1);
  });

  it('says why the host cannot be asked for organizations', async () => {
    await signIn(page, fixture.stack.url, fixture.usual.manageToken);
    await page.goto(`${fixture.stack.url}/#northlight/access`);
    await page.route('**/v1/sign-in', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 409,
            contentType: 'application/problem+json',
            body: JSON.stringify({ code: 'conflict', detail: 'The host is being changed.' }),
          })
        : route.continue(),
    );
    await page.getByRole('button', { name: 'Find in forge' }).click();
    await page.getByRole('alert').getByText('The host is being changed.').waitFor();
  });

  describe('says the same', () => {
    const expectRefused = async () => {
      await page.getByText(refusal).waitFor();
      expect(await page.getByText(refusal).textContent()).toMatch(/ Start again from the console. /);
      expect(await context.cookies()).toEqual([]);
      await expectNothingLeft();
    };

    it('to whom no organization lets in', async () => {
      await comeIn('mallory');
      await expectRefused();
    });

    it('to who is no member any more', async () => {
      forge.host.organization({ id: 42, name: 'acme-games', people: {} });
      await comeIn('ada');
      await expectRefused();
      forge.host.organization({ id: 42, name: 'acme-games', people: { ada: 'owner' } });
    });

    it('to who is sent here by somebody else, with a code of theirs and a state', async () => {
      const code = `code-${'0'.repeat(32)}`;
      await page.goto(`${fixture.stack.url}/sign-in/forge?code=${code}&state=${'x'.repeat(43)}`);
      await expectRefused();
    });

    it('when a state is used again', async () => {
      const back: string[] = [];
      page.on('request', (request) => {
        if (request.url().includes('/sign-in/forge?code=')) back.push(request.url());
      });
      await comeIn('ada');
      await page.getByText('from the bucket').waitFor();
      await context.clearCookies();
      await page.goto(back[0] ?? '');
      await expectRefused();
    });
  });
};

describeInBrowser('signing in with a git host', signInAt(''));
describeInBrowser('signing in with a git host below a path', signInAt('/a/lfs'));
