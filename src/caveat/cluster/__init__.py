"""Where work runs: in threads, in processes, or on the machines of a Dask cluster."""

from caveat.cluster.scheduler import workers_of
from caveat.cluster.workers import Workers, processes, running_on, threads, workers_now

__all__ = ["Workers", "processes", "running_on", "threads", "workers_now", "workers_of"]
