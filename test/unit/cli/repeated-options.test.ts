import { describe, expect, it } from 'vitest';
import { commandsOf } from '../../../cli/help.ts';
import { cli, programForTest } from './harness.ts';

describe('an option that is passed twice', () => {
  it.each([
    ['files list --repo game --repo other', '--repo'],
    ['tenant create acme --limit 1GiB --limit 2GiB', '--limit'],
    ['usage acme --token a --token a', '--token'],
    ['du s3://bucket --strategy probe --strategy sixteen', '--strategy'],
  ])('is refused: %s', async (line, option) => {
    const { code, out, err } = await cli(line.split(' '));
    expect({ code, out, err }).toEqual({
      code: 2,
      out: '',
      err: `error: You passed ${option} twice. Remove one.\n`,
    });
  });

  // What gathers values takes those before as its second argument, and the help must say it.
  it('is taken by those that say so', () => {
    const gathering = commandsOf(programForTest()).flatMap(({ words, command }) =>
      command.options
        .filter(({ required, description }) => required && description.includes('repeatable'))
        .map(({ long }) => `${words} ${long}`),
    );
    expect(gathering).toEqual([
      'gc --remote',
      'gc --only',
      'du --by',
      'repo names --remote',
      'invite --repo',
      'token create --repo',
      'rule create --match',
      'rule create --repo',
      'serve --public-url',
      'serve --git-host',
      'serve --issuer',
    ]);
  });
});
