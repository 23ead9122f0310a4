"""What the three safety gridworlds share: their enumeration, the Gymnasium environment, and pictures of boards."""
