import { describe, expect, it } from 'vitest';
import type { ExportMessage } from '../../../../../lambda/ports/export-queue.ts';
import { runExportStep } from '../../../../../lambda/use-cases/exports/run-step.ts';
import { ExportStack, exportPath } from '../../../../support/export-stack.ts';

const advance: ExportMessage = { ...exportPath, step: { kind: 'advance' } };

/** An export that is planned, and the messages of its units. */
async function planned(format: 'tar' | 'zip' = 'tar') {
  const stack = new ExportStack();
  await stack.storeMany(20, 900);
  await stack.start({ format });
  await stack.deliver();
  const units = stack.messages.splice(0);
  expect(units.length).toBeGreaterThan(1);
  const run = (message: ExportMessage | undefined, secondsLeft = 300) => {
    if (!message) throw new Error('There is no such message.');
    return runExportStep(stack.deps, { message, deadlineMs: stack.clock.nowMs() + secondsLeft * 1000 });
  };
  return { stack, units, run };
}

describe('the last unit of an export', () => {
  it('completes the archive, and asks for nothing more', async () => {
    const { stack, units, run } = await planned();
    for (const unit of units.slice(1)) await run(unit);
    expect(stack.messages).toEqual([]);
    await run(units[0], 120);
    expect(await stack.job()).toMatchObject({ state: 'done', isTidy: true, leaseUntilMs: 0 });
    expect(stack.messages).toEqual([]);
  });

  it('that comes again removes what is left, if whoever completed the archive died before', async () => {
    const { stack, units, run } = await planned();
    for (const unit of units.slice(1)) await run(unit);
    stack.archives.list = () => {
      throw new Error('The function dies.');
    };
    await expect(run(units[0])).rejects.toThrow('The function dies.');
    Reflect.deleteProperty(stack.archives, 'list');
    expect(await stack.job()).toMatchObject({ state: 'done', isTidy: false });
    await run(units[0]);
    expect(await stack.job()).toMatchObject({ state: 'done', isTidy: true });
    expect(await stack.left()).toHaveLength(1);
  });

  it('leaves that to another worker if it has little time left', async () => {
    const { stack, units, run } = await planned();
    for (const unit of units) await run(unit, 119.999);
    expect(await stack.job()).toMatchObject({ state: 'copying', leaseUntilMs: 0 });
    expect(stack.messages).toEqual([advance]);
    await stack.run();
    expect(await stack.job()).toMatchObject({ state: 'done' });
  });

  it('leaves it to whoever is at it', async () => {
    const { stack, units, run } = await planned();
    for (const unit of units.slice(1)) await run(unit);
    const leaseUntilMs = stack.clock.nowMs() + 1;
    await stack.jobs.change(exportPath, (job) => ({ ...job, leaseUntilMs }));
    await run(units[0]);
    expect(await stack.job()).toMatchObject({ state: 'copying', leaseUntilMs });
    expect(stack.messages).toEqual([advance]);
  });

  it('of hashing asks for the next step alone', async () => {
    const { stack, units, run } = await planned('zip');
    for (const unit of units) await run(unit);
    expect(await stack.job()).toMatchObject({ state: 'hashing', leaseUntilMs: 0 });
    expect(stack.messages).toEqual([advance]);
  });

  it('that comes again asks for the next step, as whoever did it may have died before', async () => {
    const { stack, units, run } = await planned();
    for (const unit of units) await run(unit, 1);
    stack.messages = [];
    await run(units[0]);
    expect(stack.messages).toEqual([advance]);
  });
});

describe('a unit', () => {
  it('looks for parts only if some worker has told of one', async () => {
    const { stack, units, run } = await planned();
    await run(units[0]);
    expect(stack.archives.count('parts')).toBe(0);
    await run(units[1]);
    expect(stack.archives.count('parts')).toBeGreaterThan(0);
  });

  it('makes no part again that is there', async () => {
    const { stack, units, run } = await planned();
    await run(units[0]);
    await run(units[1]);
    const parts = () => stack.archives.count('uploadPart') + stack.archives.count('copyPart');
    const before = parts();
    await stack.jobs.change(exportPath, (job) => ({ ...job, doneUnits: '' }));
    await run(units[0]);
    await run(units[1]);
    expect(parts()).toBe(before);
  });

  it('whose order is gone makes all be planned anew', async () => {
    const { stack, units, run } = await planned();
    await stack.archives.delete((await stack.left()).filter((key) => key.endsWith('/copying/0.json')));
    await run(units.find(({ step }) => step.kind === 'unit' && step.unit === 0));
    expect(await stack.job()).toMatchObject({ state: 'planning', round: 2 });
    await stack.run();
    expect(await stack.job()).toMatchObject({ state: 'done', round: 2 });
  });

  it('whose time is over goes on later', async () => {
    const { stack, units, run } = await planned();
    await run(units[0], 0);
    expect(stack.messages).toEqual([units[0]]);
    expect(await stack.job()).toMatchObject({ doneUnits: '' });
  });
});
