import { expect, it } from 'vitest';
import { jsonOf } from '../../../blackbox/api.ts';
import { describeInBrowser } from '../../browser.ts';
import { NewPages } from '../../new-pages.ts';

describeInBrowser('a link of an app into the console', (launch) => {
  const at = new NewPages(launch);
  const linkOf = async (scope: string) => {
    const body = { scope, user: 'ada' };
    const made = await at.fixture.api.manage('POST', '/v1/tenants/northlight/console-links', body);
    return (jsonOf(made) as { link: string }).link;
  };

  it('opens the tenant once, leaves no secret in the address, and signs in whom it says', async () => {
    const link = await linkOf('read');
    await at.page.goto(link);
    await at.page.getByRole('heading', { name: 'Overview' }).waitFor();
    await at.page.getByText('ada · read').waitFor();
    const secret = link.split('/#_open/')[1] ?? '';
    expect(secret.length).toBeGreaterThan(20);
    expect(at.page.url()).toMatch(/\/#northlight$/);
    expect(await at.page.content()).not.toContain(secret);
    await at.page.reload();
    await at.page.getByRole('heading', { name: 'Overview' }).waitFor();
    // Nor does the browser lead back to it.
    await at.page.goBack().catch(() => undefined);
    expect(at.page.url()).not.toContain(secret);

    await at.page.context().clearCookies();
    await at.page.goto('about:blank');
    await at.page.goto(link);
    await at.page.getByRole('alert').getByText('The link is wrong, used or expired').waitFor();
    expect(at.page.url()).not.toContain(secret);
    expect(at.messages).toEqual([]);
  });

  it('takes the place of who was signed in', async () => {
    await at.open(at.fixture.usual.readToken, '#northlight');
    await at.page.getByRole('heading', { name: 'Overview' }).waitFor();
    const link = await linkOf('manage');
    await at.page.goto('about:blank');
    await at.page.goto(link);
    await at.page.getByText('ada · manage').waitFor();
    await at.page.getByRole('link', { name: 'Settings' }).waitFor();
  });
});
