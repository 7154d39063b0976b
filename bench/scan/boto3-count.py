"""Counts a prefix by boto3's paginator, used as its documentation shows: boto3-count.py ENDPOINT BUCKET PREFIX."""

import json
import resource
import sys
import time

import boto3

endpoint, bucket, prefix = sys.argv[1:4]
client = boto3.client(
    "s3",
    endpoint_url=endpoint,
    region_name="us-east-1",
    aws_access_key_id="bench",
    aws_secret_access_key="bench-secret",
)
started, started_cpu = time.perf_counter(), time.process_time()
count = size = 0
for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix):
    for found in page.get("Contents", []):
        count += 1
        size += found["Size"]
print(
    json.dumps(
        {
            "objects": count,
            "bytes": size,
            "wallMs": (time.perf_counter() - started) * 1000,
            "cpuMs": (time.process_time() - started_cpu) * 1000,
            "peakMb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
    )
)
