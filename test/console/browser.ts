import { spawnSync } from 'node:child_process';
import { type Browser, chromium, type Page } from 'playwright-core';
import { describeWith } from '../support/describe-with.ts';

/** Debian's, or the one that is named. */
const candidates = [process.env['CHROMIUM_PATH'], 'chromium', 'chromium-browser', 'google-chrome'];

function findBrowser(): string | undefined {
  return candidates.find((name) => name && spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0);
}

/** Tests in a browser. Without one they fail in CI, and are skipped elsewhere. */
export function describeInBrowser(title: string, body: (launch: () => Promise<Browser>) => void): void {
  const missing = 'There is no Chromium. Run: apt-get install chromium, or set CHROMIUM_PATH';
  describeWith({ title, found: findBrowser(), missing }, (executable) => {
    const found = executable.includes('/')
      ? executable
      : spawnSync('sh', ['-c', `command -v ${executable}`], { encoding: 'utf8' }).stdout.trim();
    // Its sandbox does not start for root. The pages are our own.
    body(() =>
      chromium.launch({
        executablePath: found,
        chromiumSandbox: false,
        args: ['--disable-gpu', '--hide-scrollbars'],
      }),
    );
  });
}

interface Watched {
  /** What the console of the browser said: errors, warnings, what the policy refused. */
  readonly messages: string[];
  /** How much of the page moved without anybody having done anything, and what. */
  shifts(): Promise<{ amount: number; moved: string }>;
}

/** Watches a page from before its first script. */
export async function watch(page: Page): Promise<Watched> {
  const messages: string[] = [];
  page.on('console', (message) => {
    // The browser says so of every answer that is an error, also of one that is expected.
    if (!message.text().startsWith('Failed to load resource')) messages.push(message.text());
  });
  page.on('pageerror', (error) => messages.push(String(error)));
  await page.addInitScript(`
    window.shifts = 0;
    window.moved = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        if (entry.hadRecentInput) continue;
        window.shifts += entry.value;
        for (const { node } of entry.sources) window.moved.push(node?.outerHTML?.slice(0, 200) ?? String(node?.textContent));
      }
    }).observe({ type: 'layout-shift', buffered: true });
  `);
  const shifts = async () => ({
    amount: Number(await page.evaluate('window.shifts')),
    moved: String(await page.evaluate("window.moved.join('\\n')")),
  });
  return { messages, shifts };
}
