"""Quality, speed and calibration of translations."""
