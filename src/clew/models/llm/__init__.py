"""Language models behind an API: requests, retries, budget, prices and the reply cache."""
