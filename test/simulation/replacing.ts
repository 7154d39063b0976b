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
