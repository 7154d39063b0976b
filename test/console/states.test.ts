import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { isInTurn } from '../support/turn.ts';
import { describeInBrowser, watch } from './browser.ts';
import { type ConsoleFixture, startConsole } from './fixture.ts';
import { signIn } from './sign-in.ts';
import { type State, states } from './states.ts';

const pictures = fileURLToPath(new URL('../../.cache/console/', import.meta.url));

const violations = z.array(
  z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string(), failureSummary: z.string() })) }),
);

/** Each scheme and each width. All pairs would take twice as long. */
const looks = [
  { scheme: 'light', width: 1280 },
  { scheme: 'dark', width: 390 },
  { scheme: 'light', width: 320 },
  // Forced colours change no sizes.
  { scheme: 'forced', width: 1280 },
] as const;
const pagedLists = ['repos', 'deleting-an-object', 'marked-objects'];
/** A view is seen without a long way down. */
const heightMax = 2400;

describeInBrowser(
  'each state of the console, in light, dark and forced colours and of three widths: no rule of axe is broken, the browser says nothing, nothing moves, nothing is wider than the window, no view is over 2,400 px high; and no amber or red without an action that is named',
  (launch) => {
    let browser: Browser;
    let fixture: ConsoleFixture;

    beforeAll(async () => {
      [browser, fixture] = await Promise.all([launch(), startConsole()]);
      mkdirSync(pictures, { recursive: true });
    });

    afterAll(async () => {
      await browser?.close();
      await fixture?.close();
    });

    // Each state in two of its looks, each look in half of the states.
    const cells = states.flatMap((state, index) =>
      looks.filter((_, look) => isInTurn(index + look)).map((look) => ({ state, ...look })),
    );

    it.each(cells)(
      '$state.name is as it should be, $scheme, $width px wide',
      async ({ state, scheme, width }) => {
        const context = await browser.newContext({
          ...(scheme === 'forced' ? { forcedColors: 'active' } : { colorScheme: scheme }),
          viewport: { width, height: 900 },
          reducedMotion: 'reduce',
        });
        const page = await context.newPage();
        const watched = await watch(page);
        await reach(page, state);
        const picture = `${pictures}${state.name}-${width}-${scheme}.png`;
        await page.screenshot({ path: picture, fullPage: true });
        expect(await brokenRules(page)).toEqual([]);
        expect(await page.evaluate('document.scrollingElement.scrollWidth')).toBeLessThanOrEqual(width);
        if (width === 1280)
          expect(await page.evaluate('document.scrollingElement.scrollHeight')).toBeLessThanOrEqual(
            heightMax,
          );
        // An age that grows by a digit moves its own text by some pixels.
        const { amount, moved } = await watched.shifts();
        // Lists that are read page after page come a moment later, each where it was announced.
        if (!pagedLists.includes(state.name)) expect(amount, moved).toBeLessThan(0.001);
        expect(watched.messages).toEqual([]);
        if (scheme !== 'forced') expect(await warningsWithoutAction(page)).toEqual([]);
        // What is being asked for ends with it.
        await page.unrouteAll({ behavior: 'ignoreErrors' });
        await context.close();
      },
    );

    async function reach(page: Page, { token, address = '', prepare, act, shows }: State): Promise<void> {
      if (token) await signIn(page, fixture.stack.url, token(fixture));
      await prepare?.(page);
      await page.goto(`${fixture.stack.url}/${address}`);
      await act?.(page);
      await page.getByText(shows).first().waitFor({ state: 'attached' });
      await page.evaluate('document.fonts.ready');
      // What is asked for after the figures.
      if (shows !== 'Loading' && state(shows)) await page.waitForLoadState('networkidle');
    }

    /** What never ends in a state keeps the network busy. */
    const state = (shows: string) => shows !== 'so far' && shows !== "Can't reach the server";

    /** What is seen in amber or red, and neither says what to do nor has it beside it. */
    async function warningsWithoutAction(page: Page): Promise<string[]> {
      return z.array(z.string()).parse(
        await page.evaluate(`(() => {
        const probe = document.body.appendChild(document.createElement('i'));
        const coloured = (name) => {
          probe.style.color = 'var(' + name + ')';
          return getComputedStyle(probe).color;
        };
        const warnings = new Set(['--near', '--near-wash', '--bad', '--bad-wash', '--bad-fill'].map(coloured));
        probe.remove();
        const own = ['color', 'backgroundColor', 'fill', 'borderTopColor'];
        const notice = document.querySelector('.notice .actions a');
        return [...document.querySelectorAll('#console *')]
          .filter((each) => each.checkVisibility() && own.some((name) => warnings.has(getComputedStyle(each)[name])))
          .filter((each) => each.tagName !== 'BUTTON' && (each.tagName !== 'rect' || !each.parentElement.matches('.swatch')))
          .filter((each) => !(each.closest('.usage') && notice))
          // What was: days that are over.
          .filter((each) => !each.closest('.chart, .key'))
          .filter((each) => !each.closest('.notice, form, tr, .entry, .line, dialog')?.querySelector('button, a, .todo'))
          .filter((each) => !/[Dd]elete|[Rr]etry|sign in/.test(each.textContent))
          .map((each) => each.outerHTML.slice(0, 200));
      })()`),
      );
    }

    async function brokenRules(page: Page): Promise<string[]> {
      await page.evaluate(axe.source);
      const found = violations.parse(await page.evaluate('axe.run().then((results) => results.violations)'));
      return found.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
      );
    }
  },
);
