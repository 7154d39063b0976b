import type { AnyRouteKey } from '../frame/api/route-match.ts';
import { create } from '../frame/service/not-found.ts';

/** The bundler puts them in place of this name (lib/functions/functions.ts): this function loads nothing of a subject. */
declare const routeKeys: readonly AnyRouteKey[];

export const handler = create(routeKeys);
