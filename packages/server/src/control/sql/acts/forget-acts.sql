DELETE FROM keyed_acts WHERE at_ms < $1
