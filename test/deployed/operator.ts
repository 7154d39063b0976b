import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

const usageShape = z.object({
  usage: z.object({ storedBytes: z.number(), objectCount: z.number() }).nullable(),
  refreshing: z.boolean(),
});

/** Calls the management API as an operator's script does. */
export class Operator {
  readonly #url: string;
  readonly #token: string;

  constructor(access: { url: string; token: string }) {
    this.#url = access.url;
    this.#token = access.token;
  }

  /** @throws if the answer is not 2xx. */
  async call(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const { status, json } = await this.tryCall(method, path, body);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(json)}`);
    return json;
  }

  async tryCall(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; json: Record<string, unknown> }> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? {} : JSON.parse(text) };
  }

  async createTenant(tenant: string, limitBytes: number): Promise<{ writeToken: string }> {
    await this.call('POST', '/v1/tenants', { tenant, limitBytes });
    const { token } = await this.call('POST', `/v1/tenants/${tenant}/tokens`, { scope: 'write' });
    return { writeToken: String(token) };
  }

  async usage(tenant: string): Promise<{ storedBytes: number; objectCount: number } | null> {
    return usageShape.parse(await this.call('GET', `/v1/tenants/${tenant}/subscription`)).usage;
  }

  /** Asks for the usage until it is as expected or the time is up. @returns the last answer. */
  async usageWithin(input: {
    tenant: string;
    expected: { storedBytes: number; objectCount: number };
    timeoutMs: number;
  }): Promise<{ storedBytes: number; objectCount: number } | null> {
    const giveUpAtMs = performance.now() + input.timeoutMs;
    for (;;) {
      const usage = await this.usage(input.tenant);
      const { storedBytes, objectCount } = input.expected;
      if (usage?.storedBytes === storedBytes && usage.objectCount === objectCount) return usage;
      if (performance.now() > giveUpAtMs) return usage;
      await sleep(500);
    }
  }
}
