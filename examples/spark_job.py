"""Messages put in order on Spark: the same call as in one process, on a DataFrame of any size.

spark-submit examples/spark_job.py               or: python examples/spark_job.py
"""

from pathlib import Path

from pyspark.sql import SparkSession

from antecede.spark import order

ROOM = Path(__file__).parent / "room.jsonl"


def main() -> None:
    spark = SparkSession.builder.appName("room").getOrCreate()
    types = "room string, who string, clock map<string, bigint>, text string"
    messages = spark.read.schema(types).json(str(ROOM))
    with order(messages, group="room", sender="who", stamp="clock") as result:  # computed once
        for row in result.ordered.orderBy("room", "position").collect():
            print(f"{row.position} {row.who}: {row.text}")
        for row in result.held.collect():
            print(f"held {row.who}: {row.text} (lacks {', '.join(row.missing)})")
        print(f"{result.quarantine.count()} rows in quarantine")


if __name__ == "__main__":
    main()
