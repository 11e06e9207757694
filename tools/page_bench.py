"""How heavy the page of formats is: `make page-bench` measures it in a browser, over what is recorded and much more.

Each view is loaded nine times into a new context, and the medians are printed: until the page answers to input (its
scripts have run), until the figures in view are drawn, and the bytes sent. The larger databases are made up: measurements
of the recorded kernels on matrices of other names, put into a folder of their own that is removed at the end.
"""
