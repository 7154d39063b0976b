import type { AnyRouteKey } from '../frame/api/route-match.ts';
import { create } from '../frame/service/not-found.ts';
import * as unmatched from '../lists/unmatched.ts';

/** The bundler puts them in place of this name (lib/functions/functions.ts): this function loads of subjects what is in the list alone. */
declare const routeKeys: readonly AnyRouteKey[];

export const handler = create(routeKeys, unmatched);
