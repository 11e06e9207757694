"""Jobs: the database is the truth and the queue, Ray places and runs.

queue.py and lease.py hold all SQL of the queue, as its users and as its workers see it. worker.py keeps a dispatcher
running; dispatcher.py claims jobs; runner.py sees one through; engine.py is Ray, cluster.py what of it is several
hosts; task.py is the process that measures; journal.py commits what it says.
"""
