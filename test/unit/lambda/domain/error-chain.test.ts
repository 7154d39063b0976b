import { describe, expect, it } from 'vitest';
import { errorChain, thrownAt } from '../../../../lambda/domain/error-chain.ts';

describe('an error in one line', () => {
  const nested = (depth: number): Error =>
    new Error(`level ${depth}`, depth > 1 ? { cause: nested(depth - 1) } : undefined);

  it('has the names and messages of its causes, the outermost first', () => {
    const error = new TypeError('outer', { cause: new RangeError('inner', { cause: 'a text' }) });
    expect(errorChain(error)).toBe('TypeError: outer < RangeError: inner < a text');
    expect(errorChain(7)).toBe('7');
    expect(errorChain(new Error('empty', { cause: null }))).toBe('Error: empty < null');
  });

  it('has five of them at most, also of an error that is its own cause', () => {
    expect(errorChain(nested(5)).split(' < ')).toHaveLength(5);
    expect(errorChain(nested(6)).split(' < ').at(-1)).toBe('Error: level 2');
    const circular = new Error('again');
    circular.cause = circular;
    expect(errorChain(circular).split(' < ')).toHaveLength(5);
  });
});

describe('where an error was thrown', () => {
  const withStack = (stack: string | undefined, cause?: unknown) =>
    Object.assign(new Error('outer', { cause }), { stack });

  it('is the first place in the stack of the innermost cause that has one', () => {
    const inner = withStack(
      'Error: look at this\n  looked at nothing\n    at inner (a.ts:1:2)\n    at b (b.ts:3:4)',
    );
    expect(thrownAt(withStack('Error: outer\n    at outer (o.ts:1:1)', inner))).toBe('at inner (a.ts:1:2)');
    expect(thrownAt(withStack('Error: outer\n    at outer (o.ts:1:1)', 'a text'))).toBe(
      'at outer (o.ts:1:1)',
    );
  });

  it('is unknown without a stack', () => {
    expect(thrownAt(withStack(undefined))).toBeUndefined();
    expect(thrownAt(withStack('Error: outer'))).toBeUndefined();
    expect(thrownAt('a text')).toBeUndefined();
  });
});
