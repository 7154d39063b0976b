import { beforeAll } from 'vitest';

/** What is opened before the tests of a `describe`, for what is said before: its methods work once tests run. */
export function onceOpen<Opened extends object>(open: () => Opened | Promise<Opened>): Opened {
  let opened: Opened | undefined;
  beforeAll(async () => {
    opened = await open();
  });
  return new Proxy({} as Opened, {
    get: (_, name) => {
      if (!opened) throw new Error('It is open only while tests run: call this in a test.');
      const value: unknown = Reflect.get(opened, name);
      return typeof value === 'function' ? value.bind(opened) : value;
    },
  });
}
