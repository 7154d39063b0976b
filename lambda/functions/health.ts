import { create } from '../frame/service/health.ts';

export const handler = create();
