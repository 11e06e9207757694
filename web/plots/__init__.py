"""Pictures that the server draws: positions as shares of the drawing, one module and one template per kind."""
