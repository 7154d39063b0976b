import { expect, it } from 'vitest';
import { deliveryText } from '../../../../../console/src/subjects/alerts/delivery-text.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');

it('the last delivery of a webhook, and why it failed', () => {
  const last = {
    eventId: 'acme:7',
    type: 'storage.threshold',
    at: '2026-11-21T11:50:00Z',
    attempt: 1,
    outcome: 'delivered' as const,
    status: 204,
    failure: null,
    nextAt: null,
  };
  expect(deliveryText(last, nowMs)).toBe('Last: storage.threshold, 10 min ago, delivered');
  expect(deliveryText({ ...last, outcome: 'failed', status: 500 }, nowMs)).toBe(
    'Last: storage.threshold, 10 min ago, failed, is retried (500)',
  );
});
