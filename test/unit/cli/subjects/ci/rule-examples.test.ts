import { afterEach, expect, it } from 'vitest';
import { examples } from '../../../../../cli/program.ts';
import { rightsOf } from '../../../../../lambda/frame/access/rules/tokens.ts';
import { createRuleBody } from '../../../../../lambda/subjects/ci/contract.ts';
import { publicIssuers, wrongRule } from '../../../../../lambda/subjects/ci/rules/identities.ts';
import { exampleAnswer } from '../../api-examples.ts';
import { cli, startServer, type TestServer, wordsOf } from '../../harness.ts';

let server: TestServer | undefined;
afterEach(() => server?.close());

it.each(examples['rule create']?.map(([line]) => line) ?? [])(
  'makes a rule that is taken: %s',
  async (line) => {
    server = await startServer((asked) => exampleAnswer(asked));
    await cli(wordsOf(line), { env: { LFS_QUOTA_URL: server.url, LFS_QUOTA_TOKEN: 'x' } });
    const rule = createRuleBody.parse(server.asked[0]?.body);
    const issuer = publicIssuers.find((each) => each.issuer === rule.issuer);
    if (!issuer) throw new Error(`No stage takes ${rule.issuer} by default.`);
    const match = Object.fromEntries(
      Object.entries(rule.match).map(([entry, values]) => [entry, [values].flat()]),
    );
    expect(wrongRule({ ...rightsOf(rule.scope), match }, issuer)).toBe(undefined);
  },
);
