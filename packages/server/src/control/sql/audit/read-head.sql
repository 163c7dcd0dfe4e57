SELECT sequence, hash FROM head WHERE id = 1
