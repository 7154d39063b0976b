import { expect, it } from 'vitest';
import { create } from '../../../../../lambda/handlers/management.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken } from '../../../../support/memory/deps.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';

it('the limit that a tenant has already ends neither its floor nor a recount that is running', async () => {
  const world = new MemoryStack();
  await world.create(100);
  const patch = async (body: unknown) => {
    const event = httpEvent({
      method: 'PATCH',
      path: `/v1/tenants/${tenant}`,
      routeKey: 'PATCH /v1/tenants/{tenant}',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      pathParameters: { tenant },
      body: JSON.stringify(body),
    });
    expect(await create(world.deps)(event, noContext)).toMatchObject({ statusCode: 200 });
    const { limitBytes, plan, epoch, floorUntilMs } = await world.record();
    return { limitBytes, plan, epoch, hasFloor: floorUntilMs > 0 };
  };
  const { epoch } = await world.record();
  const same = { limitBytes: 100, epoch, hasFloor: true };
  expect(await patch({ limitBytes: 100 })).toEqual({ ...same, plan: null });
  expect(await patch({ limitBytes: 100, plan: 'team' })).toEqual({ ...same, plan: 'team' });
  expect(await patch({ limitBytes: 101 })).toMatchObject({
    limitBytes: 101,
    epoch: epoch + 1,
    hasFloor: false,
  });
  expect(await patch({ limitBytes: null })).toMatchObject({ limitBytes: null, epoch: epoch + 2 });
  expect(await patch({ limitBytes: null })).toMatchObject({ epoch: epoch + 2 });
});
