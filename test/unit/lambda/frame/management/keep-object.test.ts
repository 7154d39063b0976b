import { expect, it } from 'vitest';
import { deletionFields } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { create } from '../../../../../lambda/functions/management.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken } from '../../../../support/memory/deps.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';

const [oid, other] = [oidOf(1), oidOf(2)];
const repo = 'game';
const states = [...deletionFields.shape.state.options, undefined];

/** What an object's keep answers, if it's in a deletion of this state, and what is left of that. */
async function keep(state: (typeof states)[number], { isStored = true } = {}) {
  const world = new MemoryStack();
  world.put({ [`game/${other}`]: 20, ...(isStored && { [`game/${oid}`]: 10 }) });
  await world.create(100);
  const deadlineMs = world.nowMs + 60_000;
  const objects = new Map([
    [oid, 10],
    [other, 20],
  ]);
  const deletion = { id: 'd1', repo, dueAtMs: world.nowMs, deadlineMs, objects };
  if (state) await world.ledger.putDeletion({ tenant, deletion: { ...deletion, state } });
  const event = httpEvent({
    method: 'POST',
    path: `/v1/tenants/${tenant}/repos/${repo}/objects/${oid}/keep`,
    routeKey: 'POST /v1/tenants/{tenant}/repos/{repo}/objects/{oid}/keep',
    headers: { authorization: `Bearer ${adminToken}` },
    pathParameters: { tenant, repo, oid },
  });
  const { statusCode } = (await create(world.deps)(event, noContext)) as { statusCode: number };
  const left = (await world.deletions()).flatMap(({ objects }) => [...objects.keys()]);
  return { statusCode, left };
}

it.each(states)('an object is kept from a deletion that is %s, unless that has started', async (state) => {
  const hasStarted = state !== 'scheduled' && state !== undefined;
  expect(await keep(state)).toEqual({
    statusCode: hasStarted ? 409 : 200,
    left: state === undefined ? [] : hasStarted ? [oid, other] : [other],
  });
});

it.each(states)('an object that is not stored is not kept from a deletion that is %s', async (state) => {
  expect(await keep(state, { isStored: false })).toEqual({
    statusCode: 404,
    left: state === undefined ? [] : [oid, other],
  });
});
