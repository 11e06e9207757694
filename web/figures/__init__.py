"""Figures: pure functions from the data of a study, or the picture of a matrix, to Plotly figures."""
