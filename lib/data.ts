import { CfnOutput, RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, type ITableV2, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { byDueIndex, byKindIndex, keyNames } from '../lambda/adapters/dynamodb/table.ts';

export interface DataProps {
  readonly keepData: boolean;
  /** A table restored from a backup, to be used in place of the stack's own. */
  readonly restoredTableName: string | undefined;
}

/**
 * The one table of ledger and tokens.
 *
 * It has no TTL attribute on purpose: a reservation may be the only record that a repo has to be scanned, and
 * one that vanished by itself would let bytes go uncounted for ever.
 */
export class Data extends Construct {
  readonly table: TableV2 | ITableV2;

  constructor(scope: Construct, id: string, props: DataProps) {
    super(scope, id);
    this.table =
      props.restoredTableName === undefined
        ? this.#ownTable(props.keepData)
        : TableV2.fromTableAttributes(this, 'RestoredTable', {
            tableName: props.restoredTableName,
            globalIndexes: [byKindIndex.name, byDueIndex.name],
          });
    new CfnOutput(this, 'TableName', { value: this.table.tableName }).overrideLogicalId('TableName');
  }

  #ownTable(keepData: boolean): TableV2 {
    return new TableV2(this, 'Table', {
      partitionKey: { name: keyNames.pk, type: AttributeType.STRING },
      sortKey: { name: keyNames.sk, type: AttributeType.STRING },
      // Keys alone: the counter's writes, by far the most, then touch no index.
      globalSecondaryIndexes: [
        {
          indexName: byKindIndex.name,
          partitionKey: { name: byKindIndex.pk, type: AttributeType.STRING },
          sortKey: { name: byKindIndex.sk, type: AttributeType.STRING },
          projectionType: ProjectionType.KEYS_ONLY,
        },
        {
          indexName: byDueIndex.name,
          partitionKey: { name: byDueIndex.pk, type: AttributeType.STRING },
          sortKey: { name: byDueIndex.sk, type: AttributeType.NUMBER },
          projectionType: ProjectionType.KEYS_ONLY,
        },
      ],
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: keepData,
      removalPolicy: keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
  }
}
