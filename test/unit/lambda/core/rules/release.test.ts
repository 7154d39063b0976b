import { afterEach, describe, expect, it, vi } from 'vitest';

/** As a process has it that starts now. */
function started() {
  vi.resetModules();
  return import('../../../../../lambda/core/rules/release.ts');
}

describe('the release that this code is', () => {
  afterEach(() => void vi.unstubAllGlobals());

  it('is unknown to source that nothing built', async () => {
    expect((await started()).release).toEqual({ version: 'dev', commit: null });
  });

  it('is what the bundler puts there', async () => {
    const builtFrom = { version: '1.2.3', commit: 'd6605e7b1d1c' };
    vi.stubGlobal('builtFrom', builtFrom);
    expect((await started()).release).toBe(builtFrom);
  });

  it('is one text for people', async () => {
    const { releaseText } = await started();
    expect(releaseText({ version: '1.2.3', commit: 'd6605e7b1d1c' })).toBe('1.2.3 (d6605e7b1d1c)');
    expect(releaseText({ version: '1.2.3', commit: null })).toBe('1.2.3');
  });
});
