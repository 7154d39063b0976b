import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { watch } from './browser.ts';
import { type ConsoleFixture, startConsole } from './fixture.ts';
import { signIn } from './sign-in.ts';

/** One browser and one stack for the tests of a suite, and a new page for each of them. Call it in a `describe`. */
export class NewPages {
  browser!: Browser;
  fixture!: ConsoleFixture;
  context!: BrowserContext;
  page!: Page;
  /** What the browser has said. */
  messages: readonly string[] = [];

  constructor(launch: () => Promise<Browser>) {
    beforeAll(async () => {
      [this.browser, this.fixture] = await Promise.all([launch(), startConsole()]);
    });
    afterAll(async () => {
      await this.browser?.close();
      await this.fixture?.close();
    });
    beforeEach(async () => {
      const viewport = { width: 1180, height: 900 };
      this.context = await this.browser.newContext({ viewport, reducedMotion: 'reduce' });
      this.page = await this.context.newPage();
      ({ messages: this.messages } = await watch(this.page));
    });
    afterEach(async () => {
      await this.page.unrouteAll({ behavior: 'ignoreErrors' });
      await this.context.close();
    });
  }

  /** Signs in, and opens the page. */
  async open(token: string, hash = ''): Promise<void> {
    await signIn(this.page, this.fixture.stack.url, token);
    await this.page.goto(`${this.fixture.stack.url}/${hash}`);
  }
}
