"""Jobs: queue, execution, and results. The database is the queue; Ray places and runs processes.

queue.py and lease.py contain all SQL of the queue, for users and for workers. worker.py keeps a dispatcher running.
dispatcher.py claims jobs, and runner.py runs one job. engine.py controls Ray, and cluster.py its several hosts. task.py
is the measuring process; journal.py commits its records.
"""
