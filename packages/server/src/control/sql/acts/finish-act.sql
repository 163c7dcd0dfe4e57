UPDATE keyed_acts SET answer = $2 WHERE owner = $1
