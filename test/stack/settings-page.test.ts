import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { settingRows, settingsPage } from './settings-page.ts';

const page = fileURLToPath(new URL('../../docs/settings.md', import.meta.url));

describe('docs/settings.md', () => {
  it('finds a description of every setting', () => {
    const rows = settingRows();
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter(({ description }) => description === '').map(({ name }) => name)).toEqual([]);
  });

  it('shows every setting with its description', async () => {
    await expect(settingsPage()).toMatchFileSnapshot(page);
  });
});
