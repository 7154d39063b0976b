import type { OverviewPart } from '../../view-props.ts';

export const files: OverviewPart = { repoPills: { 40: ({ kind }) => kind } };
