"""Small networks, each trained for the theorem of its worksheet, and then proved right on all inputs."""
