"""A simulated fleet: the series Prometheus would have scraped, the truth, and what rules make of them."""
