-- Makes another region home, if the epoch, and unless it is below zero the number of renewals, are still these.
UPDATE home_region SET epoch = epoch + 1, home = $2
WHERE id = 1 AND epoch = $1 AND ($3 < 0 OR renewals = $3)
RETURNING epoch
