SELECT request, answer FROM keyed_acts WHERE owner = $1
