import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ProblemCode, problemTypes } from '../../../lambda/frame/contract/problems.ts';
import { exampleAnswer } from './api-examples.ts';
import { goldenRuns, type Run } from './golden-runs.ts';
import { type Answer, type Asked, cli, startServer, type TestServer } from './harness.ts';

/**
 * What each command asks the API and prints, in `golden/COMMAND.txt`: `$` the command line, `<` what the API answers
 * otherwise than its description has as example, `>` what it was asked, then standard output; `!` standard error, with
 * questions and what the person says; `=` the exit code, unless it is 0. After a change, look at what `-u` (as the last word) writes.
 */

let server: TestServer;
let answerTo: (asked: Asked) => Answer;
beforeAll(async () => {
  server = await startServer((asked) => answerTo(asked));
});
afterAll(() => server.close());

/** The words of a line, as a shell takes them. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, word]) => a ?? b ?? word ?? '');

/** Four hundred days need not be read. */
const shortened = (text: string) => (text.length > 2000 ? `${text.slice(0, 2000)}…` : text);

const marked = (mark: string, text: string) => text.replaceAll(/^(?=.)/gm, `${mark} `);

function problemAnswer(code: ProblemCode): Answer {
  const { status } = problemTypes[code];
  const body = { type: `urn:lfs-quota:problem:${code}`, code, title: 'Refused', status, detail: 'It is so.' };
  return { status, body, type: 'application/problem+json' };
}

async function transcriptOf(run: Run): Promise<string> {
  const { line, answers = [], says = [], lang } = run;
  const left = [...says];
  const elsewhere = (text: string) =>
    text.replaceAll(server.url, 'http://API').replaceAll(process.cwd(), '/checkout');
  const dialog: string[] = [];
  const { url, asked: all } = server;
  const before = all.length;
  answerTo = (asked) => {
    const count = all.length - before;
    const change = answers[Math.min(count, answers.length) - 1] ?? {};
    if ('problem' in change) return problemAnswer(change.problem);
    return exampleAnswer(asked, (body) => ({ ...(body as object), ...change }));
  };
  const { code, out, err } = await cli(wordsOf(line), {
    env: { LFS_QUOTA_URL: url, LFS_QUOTA_TOKEN: 'x', LANG: lang ?? 'C.UTF-8', NO_COLOR: '1' },
    ...(says.length > 0 && {
      ask: async (question) => {
        const answer = left.shift() ?? '';
        dialog.push(`${question}${answer}\n`);
        return answer;
      },
    }),
  });
  return [
    `$ lfs-quota ${line}\n`,
    ...answers.map((change) => `< ${shortened(JSON.stringify(change))}\n`),
    ...all
      .slice(before)
      .map(
        ({ method, path, body }) =>
          `> ${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}\n`,
      ),
    elsewhere(out),
    marked('!', elsewhere([err, ...dialog].join(''))),
    code === 0 ? '' : `= ${code}\n`,
  ].join('');
}

describe('the transcript of', () => {
  it.each(Object.entries(goldenRuns))('%s is as it was', async (command, runs) => {
    const transcripts: string[] = [];
    for (const run of runs) transcripts.push(await transcriptOf(run));
    await expect(transcripts.join('\n')).toMatchFileSnapshot(`golden/${command}.txt`);
  });
});
