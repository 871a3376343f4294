"""What ``dslog demo`` runs: a photo through numpy and a table through Spark, each asked why."""
