import { expect } from 'vitest';
import { type Alert, type AlertEvent, alertEvent } from '../../../../lambda/subjects/alerts/rules/alerts.ts';
import { webhookHeaders } from '../../../../lambda/subjects/alerts/rules/webhook-delivery.ts';
import { alertMessage } from '../../../../lambda/subjects/alerts/webhooks.ts';

const figures = { atMs: 0, storedBytes: 85, limitBytes: 100 };
const eventOf = (alert: Alert) => alertEvent('acme', { seq: 1, alert });
const reached = eventOf({ ...figures, kind: 'threshold', threshold: 80, previousThreshold: 0 });
const left = eventOf({ ...figures, kind: 'threshold', threshold: 0, previousThreshold: 80 });
const limitReached = eventOf({ ...figures, kind: 'limit_reached' });

/** Whether the queue of webhooks takes it. */
const isEvent = (value: object) =>
  alertMessage.safeParse({ tenant: 'acme', event: { id: 'acme:8', ...value } }).success;

interface Functions {
  readonly isGenuine?: (secret: string, headers: Readonly<Record<string, string>>, body: string) => boolean;
  readonly slackText?: (event: AlertEvent) => string | undefined;
}

export const blocks = {
  json(value: Readonly<Record<string, unknown>>): boolean {
    if (value['source'] !== undefined)
      return (value['detail-type'] as string[]).every((type) =>
        isEvent({ type, timestamp: '2026-11-23T01:11:07Z', data: {} }),
      );
    const { data } = [reached, limitReached].find(({ type }) => type === value['type']) ?? {};
    expect(Object.keys(value['data'] as object)).toEqual(Object.keys(data ?? {}));
    return isEvent(value);
  },
  /** The one that verifies webhooks, and the one that posts them to Slack. */
  js({ isGenuine, slackText }: Functions): boolean {
    if (slackText) {
      expect(slackText(reached)).toContain('acme has reached 80%');
      expect(slackText(left)).toBeUndefined();
      expect(slackText(limitReached)).toContain("acme didn't fit");
      return true;
    }
    if (!isGenuine) return false;
    const secret = `whsec_${Buffer.from('a key').toString('base64')}`;
    const made = { secrets: ['whsec_AAAA', secret], id: 'acme:8', body: '{}' };
    const headers = webhookHeaders({ ...made, timestampSeconds: Math.floor(Date.now() / 1000) });
    expect(isGenuine(secret, headers, '{}')).toBe(true);
    expect(isGenuine(secret, headers, '{ }')).toBe(false);
    expect(isGenuine('whsec_BBBB', headers, '{}')).toBe(false);
    expect(isGenuine(secret, webhookHeaders({ ...made, timestampSeconds: 1 }), '{}')).toBe(false);
    return true;
  },
};
