"""Upload, run, compare, plot: `python docs/notebook.py http://127.0.0.1:8000 matrix.mtx` writes formats.html."""

import sys

from sparsight import Client

client = Client(sys.argv[1])
matrix = client.wait_matrix(client.upload(sys.argv[2])["id"])
job = client.submit("formats", [matrix["id"]], {"rounds": 9}, device="cpu")
client.wait(job["id"], lambda now: print(now["progress"]["message"]))
print(client.to_pandas(job["id"])[["kernel", "cache", "median_s", "gflops"]])
for difference in client.compare("csr/scalar", "csr/vector", job["id"]):
    print(difference.cache, difference.verdict, difference.reason)
client.figure("formats", job=job["id"], cache="warm").write_html("formats.html")
