"""Drawings of the figures that explain a format or a method: one module per paper.

The arrays come from the conversions that the kernels use, applied to a small matrix. Each drawing is HTML tables or
inline SVG, colored by web/static/app.css.
"""
