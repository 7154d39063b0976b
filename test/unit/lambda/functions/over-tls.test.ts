import { describe, expect, it } from 'vitest';
import { create as health } from '../../../../lambda/frame/service/health.ts';
import { create as notFound } from '../../../../lambda/frame/service/not-found.ts';
import { httpEvent, noContext } from '../../../support/http-event.ts';

describe('an answer that needs nothing', () => {
  it.each([
    ['/health', health()],
    ['/nowhere', notFound([], {})],
  ])('of %s has the header for TLS alone', async (path, handler) => {
    const answered = async (proto: string) => {
      const event = httpEvent({ routeKey: `GET ${path}`, headers: { 'x-forwarded-proto': proto } });
      return (await handler(event, noContext)).headers?.['strict-transport-security'];
    };
    expect([await answered('https'), await answered('http')]).toEqual(['max-age=31536000', undefined]);
  });
});
