import { expect, it } from 'vitest';
import { basic, jsonOf } from '../../../blackbox/api.ts';
import { newOid } from '../../../blackbox/lfs.ts';
import { fileOf, sendNames } from '../../../blackbox/subjects/names/names.ts';
import { describeInBrowser } from '../../browser.ts';
import { NewPages } from '../../new-pages.ts';

describeInBrowser('objects of a repo by path', (launch) => {
  const at = new NewPages(launch);
  const repo = 'atlas-world';
  const namesPath = `/v1/tenants/northlight/repos/${repo}/names`;

  /** The largest is of no branch; two are in use; one has gone. */
  async function send(): Promise<void> {
    const { api, usual } = at.fixture;
    const { objects } = jsonOf(await api.manage('GET', `/v1/tenants/northlight/objects?repo=${repo}`)) as {
      objects: { oid: string; sizeBytes: number }[];
    };
    const sorted = objects.toSorted((a, b) => b.sizeBytes - a.sizeBytes);
    const names = sorted.map((object, index) => ({
      ...object,
      path: `Content/Cinematics/Act ${index + 1}/<b>bridge</b>.uasset`,
      seconds: 1_780_000_000,
      ...(index > 0 && { ref: 'main' }),
    }));
    const file = fileOf([...names, { oid: newOid(), sizeBytes: 5 }]);
    const put = await sendNames(api, namesPath, file, basic(usual.manageToken));
    expect((await put()).status).toBe(200);
  }

  const rowTexts = async () => {
    const texts = await at.page.locator('tbody tr').allInnerTexts();
    return texts.map((text) => text.replaceAll(/\s+/g, ' '));
  };

  it('is shown how to send them first', async () => {
    await at.open(at.fixture.usual.manageToken, `#northlight/repos/${repo}/paths`);
    await at.page.getByText(`lfs-quota repo names northlight ${repo} --clone ${repo}.git`).waitFor();
    await at.page.getByText(/aren't stored/).waitFor();
  });

  it('finds, deletes and keeps objects by path', async () => {
    await send();
    await at.open(at.fixture.usual.manageToken, `#northlight/repos/${repo}/paths`);
    await at.page.reload();
    await at.page.getByText('4 objects, 770').waitFor();
    expect(await rowTexts()).toEqual([
      expect.stringMatching(/Act 1\/<b>bridge<\/b>\.uasset [0-9a-f]{12}… no branch or tag .* 420.KiB/),
      expect.stringMatching(/Act 2.* main .* 260.KiB/),
      expect.stringMatching(/Act 3.* main .* 90.KiB/),
      expect.stringMatching(/in no commit deleted [0-9a-f]{12}… no branch or tag – 5.B/),
    ]);
    await at.page.getByText('Not in use').click();
    await at.page.getByText('2 objects, 420').waitFor();
    await at.page.getByText('All', { exact: true }).click();
    await at.page.getByLabel('Find paths').fill('act 2');
    await at.page.getByRole('button', { name: 'Find' }).click();
    await at.page.getByText('1 object, 260').waitFor();
    expect(await at.page.getByRole('checkbox').count()).toBe(1);

    // In use: the repo's name is to be typed.
    await at.page.getByRole('checkbox', { name: /^Choose Content.*Act 2/ }).check();
    await at.page.getByRole('button', { name: 'Delete…' }).click();
    await at.page.getByText('1 object in use, such as by main: its checkouts fail then.').waitFor();
    const ready = at.page.getByRole('button', { name: 'Delete 1' });
    await at.page.getByText(/Frees 260.KiB in 60 min/).waitFor();
    expect(await ready.isDisabled()).toBe(true);
    await at.page.getByLabel(`Type ${repo}`).fill(repo);
    await ready.click();
    await at.page.getByText('deleted in 60 min').waitFor();
    await at.page.getByText(/^Deletes 1 object in 60 min/).waitFor();
    await at.page.getByRole('button', { name: /^Keep Content.*Act 2/ }).click();
    await at.page.getByText('deleted in 60 min').waitFor({ state: 'detached' });
    await at.page.getByText(/^Deletes 1 object/).waitFor({ state: 'detached' });
    const left = await at.fixture.api.manage('GET', '/v1/tenants/northlight/deletions');
    expect(jsonOf(left)).toMatchObject({ deletions: [] });

    // Not in use: nothing is to be typed.
    await at.page.getByLabel('Find paths').fill('act 1');
    await at.page.getByRole('button', { name: 'Find' }).click();
    await at.page.getByRole('checkbox', { name: /^Choose Content.*Act 1/ }).check();
    await at.page.getByRole('button', { name: 'Delete…' }).click();
    await at.page.getByText(/Frees 420.KiB in 60 min/).waitFor();
    expect(await at.page.getByRole('dialog').getByRole('textbox').count()).toBe(0);
    await at.page.getByRole('button', { name: 'Delete 1' }).click();
    await at.page.getByText('deleted in 60 min').waitFor();
    expect(at.messages).toEqual([]);
  });

  it('shows readers nothing, until they may see it, and then no way to delete', async () => {
    await send();
    const { api, usual } = at.fixture;
    await at.open(usual.readToken, `#northlight/repos/${repo}/paths`);
    await at.page.getByText('This requires the admin token, or one with the manage scope.').waitFor();
    expect((await api.as(basic(usual.manageToken), 'PATCH', namesPath, { forReaders: true })).status).toBe(
      200,
    );
    await at.page.reload();
    await at.page.getByText('4 objects, 770').waitFor();
    expect(await at.page.getByRole('checkbox').count()).toBe(0);
    expect(await at.page.getByRole('button', { name: /Keep|Delete/ }).count()).toBe(0);
  });
});
