-- The first home region, unless there is one.
INSERT INTO home_region (id, epoch, home, renewals) VALUES (1, $1, $2, 0)
ON CONFLICT (id) DO NOTHING
