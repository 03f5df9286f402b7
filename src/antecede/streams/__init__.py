"""streams: the files of a stream that is put in causal order: states, waiting rows, tables and commit marks.

Owns: the layout of a checkpoint and of the output folders, what makes a micro-batch count exactly once, and
the step of one bucket of groups over these files. Must not know Spark (which calls it inside tasks) or the
terminal.

    CHECKPOINT/commits/<batch>.json          the mark: names every state file that is valid behind the batch
               running.lock                  locked by whoever runs the stream
               attempts/<batch>.json         when the batch was first tried, and by which rules it decides
               state/<batch>/<bucket>.groups.arrow      what is remembered of the groups that it touched
                             <bucket>.held.parquet      rows that it left waiting
                                                        (and <bucket>.tick1... of ticks behind the batch)
    OUT/ordered/batch=<batch>/<bucket>.parquet          and so for late, held (for good) and quarantine
"""
