DELETE FROM keyed_acts WHERE owner = $1 AND answer IS NULL
