import { GraphWidget, type IMetric, type IWidget } from 'aws-cdk-lib/aws-cloudwatch';

/** One graph of the dashboard, a third of its width. */
export const graph = (title: string, left: readonly IMetric[]): IWidget =>
  new GraphWidget({ title, left: [...left], width: 8 });
