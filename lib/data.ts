import { CfnOutput, RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, type ITableV2, ProjectionType, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { Construct } from 'constructs';
import { byDueIndex, byKindIndex, expiryAttribute, keyNames } from '../lambda/adapters/dynamodb/table.ts';

export interface DataProps {
  readonly keepData: boolean;
  /** A table restored from a backup, used instead of the stack's own. */
  readonly restoredTableName: string | undefined;
}

/**
 * The table of the ledger and the tokens.
 *
 * Its TTL removes request keys. Items of the ledger never have that attribute: a reservation may be the only record
 * that a repo must be scanned. If it expired by itself, its bytes might never be counted.
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
      // Only keys: writes to the counter, by far the most frequent, then change no index.
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
      // Request keys and the like. Items of the ledger never have this attribute.
      timeToLiveAttribute: expiryAttribute,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: keepData,
      // Not RETAIN_ON_UPDATE_OR_DELETE: a failed first deployment would then try to delete the table, which its
      // protection forbids, and the stack would be stuck. So it leaves an empty table.
      removalPolicy: keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
  }
}
