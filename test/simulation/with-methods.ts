import type { Ledger } from '../../lambda/ports/ledger.ts';
import type { MemoryLedger } from '../support/memory/ledger.ts';

/** A ledger with some of its methods replaced. */
export function withMethods(ledger: MemoryLedger, methods: Partial<Ledger>): Ledger {
  return replacing<Ledger>(ledger, methods);
}

/** A port with some of its methods replaced. */
export function replacing<P extends object>(port: P, methods: Partial<P>): P {
  return new Proxy(port, {
    get(target, property) {
      const replaced = Reflect.get(methods, property);
      if (replaced !== undefined) return replaced;
      const value = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
