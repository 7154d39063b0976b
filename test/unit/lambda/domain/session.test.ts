import { describe, expect, it } from 'vitest';
import { operatorParent, parseSession, sessionLifetimeMs } from '../../../../lambda/domain/session.ts';

const secret = `lfss_${'a'.repeat(40)}`;

describe('the cookie of a session', () => {
  it('lasts for twelve hours, and of an operator has the parent that no token has', () => {
    expect(sessionLifetimeMs).toBe(43_200_000);
    expect(operatorParent).toBe('operator');
  });

  it.each(['operator', '0123456789abcdef'])('holds its parent %s and its secret', (parentId) => {
    expect(parseSession(`${parentId}.${secret}`)).toEqual({ parentId, secret });
  });

  it.each([
    '',
    secret,
    `.${secret}`,
    `admin.${secret}`,
    `0123456789abcde.${secret}`,
    `0123456789ABCDEF.${secret}`,
    `0123456789abcdef.${secret}a`,
    `0123456789abcdef.${secret.slice(0, -1)}`,
    `0123456789abcdef.lfsq_${'a'.repeat(40)}`,
    ` operator.${secret}`,
    `operator.${secret}\n`,
  ])('is none if it is %j', (value) => {
    expect(parseSession(value)).toBeUndefined();
  });
});
