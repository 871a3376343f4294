"""Raw lineage relations and the one Arrow schema that Spark and Parquet share."""
