import { create } from '../frame/service/not-found.ts';

export const handler = create();
