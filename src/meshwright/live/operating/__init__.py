"""What operators ask and order, and what a broker reports to them."""
