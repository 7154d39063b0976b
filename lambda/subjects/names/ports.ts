import type { Names } from './names-store.ts';

export interface NamePorts {
  readonly names: Names;
}
