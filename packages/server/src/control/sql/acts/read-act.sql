SELECT request, answer, claimed_by FROM keyed_acts WHERE owner = $1
