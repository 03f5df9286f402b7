"""Spark's Kafka connector, which Spark does not bring along: where it comes from when a session is started.

Maven fetches it, once for this user. Where there is no Maven, Spark's own `spark.jars.packages` does.
Where Spark has it among its jars, that one is used.
"""

from pathlib import Path

import pyspark

from antecede.core.errors import SetupError
from antecede.machine import make_user_folder
from antecede.maven import Artifact, fetch_jars, has_maven

_SPARK = "org.apache.spark"
_CONNECTOR = "spark-sql-kafka-0-10_2.13"
_TOKENS = "spark-token-provider-kafka-0-10_2.13"
_OF_SPARK = (_SPARK, "org.scala-lang", "org.scala-lang.modules", "org.apache.hadoop", "org.slf4j")
"""Groups that Spark has itself."""
_ALONE = ("*",)


_OTHERS = [
    Artifact(_SPARK, _TOKENS, "4.0.0", _ALONE),
    Artifact("org.apache.kafka", "kafka-clients", "3.9.2", _ALONE),
    Artifact("org.apache.commons", "commons-pool2", "2.12.1", _ALONE),
]
"""What the connectors of Spark 4.1 and 4.2 need, and ran with."""


def _list_connector_choices() -> list[list[Artifact]]:
    """The connector of this Spark, and what ran in its place: not all servers have all of the former."""
    version = pyspark.__version__
    choices = [
        [Artifact(_SPARK, _CONNECTOR, version, _OF_SPARK), Artifact(_SPARK, _TOKENS, version, _OF_SPARK)],
        [Artifact(_SPARK, _CONNECTOR, version, _ALONE), *_OTHERS],
    ]
    if not version.startswith("4.1."):  # which lacks something that the connector of 4.2 calls
        choices.append([Artifact(_SPARK, _CONNECTOR, "4.2.0", _ALONE), *_OTHERS])
    return choices


def fetch_connector_and_make_settings() -> dict[str, str]:
    """Settings for `get_session`, so that Spark reads and writes topics."""
    if _is_connector_installed():
        return {}
    choices = _list_connector_choices()
    faults = []
    for choice in sorted(choices, key=lambda choice: not _locate_jar_folder(choice).exists()):
        try:
            folder = fetch_jars(_locate_jar_folder(choice).name, choice)
        except SetupError as error:
            faults.append(str(error))
        else:
            return {"spark_jars": ",".join(str(jar) for jar in sorted(folder.glob("*.jar")))}
    if not has_maven():
        return {"spark_jars_packages": str(choices[0][0])}
    raise SetupError(
        f"Spark's Kafka connector cannot be had: {faults[-1]}; put {choices[0][0]} and what it needs into "
        f"{_locate_pyspark_jars()}"
    )


def _locate_jar_folder(choice: list[Artifact]) -> Path:
    return make_user_folder() / f"spark-kafka-{choice[0].version}"


def _locate_pyspark_jars() -> Path:
    return Path(pyspark.__file__).parent / "jars"


def _is_connector_installed() -> bool:
    return any(_locate_pyspark_jars().glob("spark-sql-kafka-0-10*.jar"))
