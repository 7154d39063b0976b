import { describe, expect, it } from 'vitest';
import { OtherRepo, readLfsEndpoint } from '../../../cli/move/other-repo.ts';

describe('the address of another server', () => {
  it.each([
    'https://ada:s3cret@example.com',
    'https://ada:s3cret@example.com/game.git?x=1',
    'https://ada:s3cret/s3cret@example.com/game.git',
    'ssh://ada:s3cret@example.com/game.git',
    'ada:s3cret@example.com/game.git',
  ])('that is none is named without its login: %s', (text) => {
    expect(() => readLfsEndpoint(text)).toThrow(/^'[a-z:/]*example\.com\S*' isn't a repository's URL/);
    expect(() => readLfsEndpoint(text)).not.toThrow('s3cret');
  });

  it('may have a login, percent-encoded', () => {
    const url = 'https://example.com/game.git/info/lfs';
    const login = { username: 'ada', password: '50%off' };
    expect(readLfsEndpoint('https://ada:50%25off@example.com/game.git')).toEqual({ url, login });
    expect(() => readLfsEndpoint('https://ada:50%off@example.com/game.git')).toThrow(
      "The URL's user and password must be percent-encoded: write % as %25.",
    );
  });
});

it.each([
  [503, 'unavailable', 'Run the command again in a few minutes'],
  [509, 'failed', 'Get a higher limit there, or wait until it resets.'],
])('a refusal of another server with %i ends as %s', (status, failure, hint) => {
  const repo = new OtherRepo({ url: 'https://example.com/game.git/info/lfs', login: undefined }, '.');
  const refusal = repo.refusal('download', { status, body: { message: 'no more' } });
  expect(refusal).toMatchObject({ failure, hint: expect.stringContaining(hint) });
});
