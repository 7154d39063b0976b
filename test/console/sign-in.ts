import type { Page } from 'playwright-core';

/** Begins a session as the form does, without the form. */
export async function signIn(page: Page, url: string, token: string): Promise<void> {
  const answer = await page.request.post(`${url}/v1/session`, {
    headers: { authorization: `Bearer ${token}` },
  });
  if (answer.status() !== 201) throw new Error(`${answer.status()}: ${await answer.text()}`);
}
