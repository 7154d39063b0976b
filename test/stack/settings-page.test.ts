import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { settingRows, settingsPage } from './settings-page.ts';

const page = fileURLToPath(new URL('../../docs/settings.md', import.meta.url));

describe('docs/settings.md', () => {
  it('finds words at every setting', () => {
    const rows = settingRows();
    expect(rows.length).toBeGreaterThan(50);
    expect(rows.filter(({ what }) => what === '').map(({ name }) => name)).toEqual([]);
  });

  it('is what the settings say of themselves', async () => {
    await expect(settingsPage()).toMatchFileSnapshot(page);
  });
});
