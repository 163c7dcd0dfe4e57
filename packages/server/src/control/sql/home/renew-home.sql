-- Counts a renewal, unless a later epoch is in force. A database that was restored takes a later epoch over.
UPDATE home_region SET epoch = $1, home = $2, renewals = renewals + 1
WHERE id = 1 AND (epoch < $1 OR (epoch = $1 AND home = $2))
RETURNING renewals
